package poolworker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
)

// itemPlace is what stands for the item in an argument.
const itemPlace = "{}"

// endGrace is how long a program may take to end when its worker is told to, and how long
// somebody else may hold its output open once it has.
const endGrace = 5 * time.Second

// command is what is run for each item.
type command struct {
	argv []string
	env  []string
	has  bool // the item has a place in an argument; else it is put behind them
}

func newCommand(argv, environ []string) *command {
	c := &command{argv: argv}
	c.has = slices.ContainsFunc(argv, func(arg string) bool { return strings.Contains(arg, itemPlace) })
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if name != poolwork.ItemVariable && name != poolwork.BrokerVariable && name != poolwork.PoolVariable {
			c.env = append(c.env, v)
		}
	}
	return c
}

// itemArgs is the command with an item.
func (c *command) itemArgs(item string) []string {
	args := make([]string, 0, len(c.argv)+1)
	for _, arg := range c.argv {
		args = append(args, strings.ReplaceAll(arg, itemPlace, item))
	}
	if !c.has {
		args = append(args, item)
	}
	return args
}

// runItem runs the command for an item.
func (c *command) runItem(ctx context.Context, text []byte) poolwork.Outcome {
	item := string(text)
	args := c.itemArgs(item)
	var out, err limitedBuffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(c.env[:len(c.env):len(c.env)], poolwork.ItemVariable+"="+item)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &err, endGrace
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	o := poolwork.Outcome{Code: exitCode(cmd.Run(), &err)}
	o.Out, o.Err, o.Cut = out.kept.Bytes(), err.kept.Bytes(), out.isCut || err.isCut
	return o
}

// The exit codes of a shell for a program that is not there, or cannot be run.
const (
	codeNotFound   = 127
	codeNotRunning = 126
)

// exitCode is how a program ended. Why it could not be started is written where its messages
// would be.
func exitCode(err error, to *limitedBuffer) int {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // somebody whom it started lives on
		return 0
	case errors.As(err, &exit):
		if st, ok := exit.Sys().(syscall.WaitStatus); ok && st.Signaled() {
			return 128 + int(st.Signal())
		}
		return exit.ExitCode()
	}
	_, _ = fmt.Fprintf(to, "godwit: %v\n", err) // never fails
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return codeNotFound
	}
	return codeNotRunning
}

// limitedBuffer keeps the beginning of what is written.
type limitedBuffer struct {
	kept  bytes.Buffer
	isCut bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if room := poolwork.MaxOutput - b.kept.Len(); len(p) > room {
		b.isCut = true
		b.kept.Write(p[:room])
		return len(p), nil
	}
	return b.kept.Write(p)
}
