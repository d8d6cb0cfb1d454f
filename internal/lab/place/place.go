// Package place is where the daemons of a lab run: a host of the lab, or
// whatever else a command can be run in. It starts daemons there, finds them
// again by the files they keep their process ids in, and ends them; so they
// outlive whoever started them and can be looked after by another process. It
// must not know what the daemons are for.
package place

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// Place is a host: commands run on it, by its address others reach it.
type Place interface {
	Command(ctx context.Context, argv ...string) *exec.Cmd
	Name() string
	Addr() string
}

// CommandOutput runs a command and returns what it printed, without the last newline.
func CommandOutput(ctx context.Context, at Place, argv ...string) (string, error) {
	cmd := at.Command(ctx, argv...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	out := strings.TrimRight(stdout.String(), "\n")
	if err != nil {
		return out, commandError(at, argv, err, stderr.String(), out)
	}
	return out, nil
}

// commandError is an error of a command in one line: its own words, if it has any.
func commandError(at Place, argv []string, err error, said ...string) error {
	for _, s := range said {
		lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' })
		if len(lines) > 0 {
			return fmt.Errorf("%s on %s: %s (%w)", programName(argv), at.Name(), strings.Join(lines, "; "), err)
		}
	}
	return fmt.Errorf("%s on %s: %w", programName(argv), at.Name(), err)
}

// programName is the name of what is run, behind env and its settings.
func programName(argv []string) string {
	for i, a := range argv {
		if (i == 0 && a == "env") || (i > 0 && strings.Contains(a, "=")) {
			continue
		}
		return a[strings.LastIndexByte(a, '/')+1:]
	}
	return strings.Join(argv, " ")
}

// The time between two questions whether something is so: short at first, and
// longer if it lasts, as asking costs the host something too.
const (
	minPause = 20 * time.Millisecond
	maxPause = 300 * time.Millisecond
)

// WaitUntil asks until the answer is yes. What is waited for, and the last error,
// are told when ctx ends.
func WaitUntil(ctx context.Context, what string, ask func(context.Context) (bool, error)) error {
	var last error
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		ok, err := ask(ctx)
		if ok {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			last = err
		}
		if !clock.SleepContext(ctx, pause) {
			return fmt.Errorf("waiting for %s: %w", what, errors.Join(context.Cause(ctx), last))
		}
	}
}
