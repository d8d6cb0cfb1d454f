package place_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
		_, err := place.CommandOutput(t.Context(), here{}, "env", "A=b", "sh", "-c", c.script)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.script, err, c.want)
		}
	}
	if out, err := place.CommandOutput(t.Context(), here{}, "printf", "a\nb\n\n"); out != "a\nb" || err != nil {
		t.Errorf("the output is %q, %v", out, err)
	}
}

func TestWaitingInVainSaysForWhatAndWhy(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := 0
	err := place.WaitUntil(ctx, "godot", func(context.Context) (bool, error) {
		if asked++; asked == 2 {
			cancel()
		}
		return false, errors.New("he sends word")
	})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "godot") ||
		!strings.Contains(err.Error(), "he sends word") {
		t.Errorf("it says %v", err)
	}
}

func TestWhatADaemonSaysHasNoNameThatCouldBeLeft(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	d := place.Daemon{At: here{}, PidFile: filepath.Join(t.TempDir(), "none"), Comm: "none",
		Argv: []string{"sh", "-c", `echo "there is:" "$TMPDIR"/*; exit 2`}}
	if err := d.Start(t.Context()); err == nil || err.Error() != "sh on here: there is: "+tmp+"/* (exit status 2)" {
		t.Errorf("it says %v", err)
	}
}
