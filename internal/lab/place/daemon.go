package place

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// Daemon is a program that goes into the background by itself and keeps its
// process id in a file.
type Daemon struct {
	At      Place
	Argv    []string
	PidFile string // as seen in its place
	Comm    string // its name in the process table
}

// stopTimeout is how long a daemon may take to end before it is killed.
const stopTimeout = time.Minute

// Start starts the daemon unless it runs. It may not be ready yet.
func (d *Daemon) Start(ctx context.Context) error {
	if running, err := d.IsRunning(ctx); running || err != nil {
		return err
	}
	// A daemon may keep what it was given open: files do not care. Nor do they need
	// their name, which who is killed would leave.
	said, err := os.CreateTemp("", "godwit-daemon")
	if err != nil {
		return err
	}
	defer func() { _ = said.Close() }()
	if err := os.Remove(said.Name()); err != nil {
		return err
	}
	cmd := d.At.Command(ctx, d.Argv...)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Run(); err != nil {
		text, _ := io.ReadAll(io.NewSectionReader(said, 0, math.MaxInt64))
		return commandError(d.At, d.Argv, err, string(text))
	}
	return nil
}

// StartAll starts those of several daemons that do not run, at the same time.
func StartAll(ctx context.Context, all []*Daemon) error {
	return forEach(all, func(d *Daemon) error { return d.Start(ctx) })
}

// StopAll ends several daemons, at the same time, and returns when they are gone.
func StopAll(ctx context.Context, all []*Daemon) error {
	return forEach(all, func(d *Daemon) error { return d.Stop(ctx) })
}

// ListDown lists those that do not run, such as "slurmd on n1".
func ListDown(ctx context.Context, all []*Daemon) ([]string, error) {
	down := make([]string, len(all))
	err := forEach(all, func(d *Daemon) error {
		running, err := d.IsRunning(ctx)
		if !running {
			down[slices.Index(all, d)] = d.Comm + " on " + d.At.Name()
		}
		return err
	})
	return slices.DeleteFunc(down, func(s string) bool { return s == "" }), err
}

// forEach does something with all of them at the same time.
func forEach(all []*Daemon, do func(*Daemon) error) error {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, d := range all {
		wg.Go(func() { errs[i] = do(d) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// find sets p to the id of the process if it is the one that is meant, and not
// a dead one that nobody has fetched. One of whose threads some have yet to end is
// not dead: they keep its ports and locks.
const find = `p=$(cat "$1") && [ -n "$p" ] && read -r c <"/proc/$p/comm" && [ "$c" = "$2" ] &&
grep -Eq '^(State:[[:space:]]+[^ZX]|Threads:[[:space:]]+([2-9]|[1-9][0-9]))' "/proc/$p/status" || exit 1`

// IsRunning says whether the daemon runs.
func (d *Daemon) IsRunning(ctx context.Context) (bool, error) {
	err := d.shellCommand(ctx, find).Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return false, nil
	}
	return err == nil, err
}

// SendSignal sends the daemon a signal, such as "KILL". It is no error if it does
// not run.
func (d *Daemon) SendSignal(ctx context.Context, signal string) error {
	out, err := d.shellCommand(ctx, find+`; kill -s "$3" "$p"`, signal).CombinedOutput()
	if err == nil {
		return nil
	}
	if running, ask := d.IsRunning(ctx); !running && ask == nil {
		return nil
	}
	return commandError(d.At, []string{"kill"}, err, string(out))
}

// KillAndWait ends the daemon as a crash does and returns when it is gone.
func (d *Daemon) KillAndWait(ctx context.Context) error {
	if err := d.SendSignal(ctx, "KILL"); err != nil {
		return err
	}
	return d.awaitEnd(ctx)
}

// Stop ends the daemon and returns when it is gone.
func (d *Daemon) Stop(ctx context.Context) error {
	if err := d.SendSignal(ctx, "TERM"); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if d.awaitEnd(waiting) == nil {
		return nil
	}
	return d.KillAndWait(ctx)
}

// awaitEnd waits until the daemon does not run.
func (d *Daemon) awaitEnd(ctx context.Context) error {
	return WaitUntil(ctx, fmt.Sprintf("the end of %s on %s", d.Comm, d.At.Name()),
		func(ctx context.Context) (bool, error) {
			running, err := d.IsRunning(ctx)
			return !running && err == nil, err
		})
}

// shellCommand runs a few lines of ours about the daemon in its place.
func (d *Daemon) shellCommand(ctx context.Context, lines string, more ...string) *exec.Cmd {
	argv := append([]string{"sh", "-c", strings.TrimSpace(lines), "sh", d.PidFile, d.Comm}, more...)
	return d.At.Command(ctx, argv...)
}
