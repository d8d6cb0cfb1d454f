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
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock"
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
	// name is the program that was started last, path where it was found.
	name, path string
	null       *os.File // what programs read
	clock      clock.Clock
}

func newCommand(argv, environ []string) *command {
	c := &command{argv: argv, clock: clock.RealClock()}
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

// runItem runs the command for an item. It may run one at a time.
func (c *command) runItem(ctx context.Context, text []byte) poolwork.Outcome {
	item := string(text)
	args := c.itemArgs(item)
	var out, errs limitedBuffer
	path, err := c.findProgram(args[0])
	var status unix.WaitStatus
	if err == nil {
		env := append(c.env[:len(c.env):len(c.env)], poolwork.ItemVariable+"="+item)
		status, err = c.runProgram(ctx, path, args, env, &out, &errs)
	}
	o := poolwork.Outcome{Code: exitCode(status, err, &errs)}
	o.Out, o.Err, o.Cut = out.kept.Bytes(), errs.kept.Bytes(), out.isCut || errs.isCut
	return o
}

// The exit codes of a shell for a program that is not there, or cannot be run.
const (
	codeNotFound   = 127
	codeNotRunning = 126
)

// exitCode is how a program ended. Why it could not be started is written where its messages
// would be.
func exitCode(status unix.WaitStatus, err error, to *limitedBuffer) int {
	switch {
	case err == nil && status.Signaled():
		return 128 + int(status.Signal())
	case err == nil:
		return status.ExitStatus()
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
