package place_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/lab/place"
)

// here is this machine as a place.
type here struct{}

func (here) Command(ctx context.Context, argv ...string) *exec.Cmd {
	return exec.CommandContext(ctx, argv[0], argv[1:]...)
}
func (here) Name() string { return "here" }
func (here) Addr() string { return "127.0.0.1" }

func TestAFailureIsToldInTheWordsOfTheProgram(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"echo first >&2; echo second >&2; exit 2", "sh on here: first; second (exit status 2)"},
		{"echo only this; exit 2", "sh on here: only this (exit status 2)"},
		{"exit 3", "sh on here: exit status 3"},
	} {
		_, err := place.Output(t.Context(), here{}, "env", "A=b", "sh", "-c", c.script)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.script, err, c.want)
		}
	}
	if out, err := place.Output(t.Context(), here{}, "printf", "a\nb\n\n"); out != "a\nb" || err != nil {
		t.Errorf("the output is %q, %v", out, err)
	}
}

func TestWaitingInVainSaysForWhatAndWhy(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := place.Until(ctx, "godot", func(context.Context) (bool, error) { return false, errors.New("he sends word") })
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "godot") || !strings.Contains(err.Error(), "he sends word") {
		t.Errorf("it says %v", err)
	}
}
