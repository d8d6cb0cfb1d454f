package proctree

import (
	"os"
	"time"

	"github.com/godwit-hpc/godwit/internal/cgroup"
	"github.com/godwit-hpc/godwit/internal/checkpoint"
)

// Spec is what to start, and in what surroundings. The mark is the tree's.
type Spec struct {
	Argv   []string
	Env    []string // complete; the mark is added
	Dir    string
	Stdin  *os.File // nil: /dev/null
	Stdout *os.File // nil: /dev/null
	Stderr *os.File
	CPUs   []int // nil: any
	Nice   int   // added to our own
	Limits checkpoint.Limits
	Cgroup *cgroup.Group // joined before the first instruction; nil: none
}

// Process is the first process of a program that was started.
type Process struct {
	Pid  int
	done chan struct{}
	exit Exit
}

// Exit is how a process ended.
type Exit struct {
	Code   int // exit code; 128 + n if signal n ended it
	Signal int
	CPU    time.Duration // of it and the children it waited for
}

// Start runs a program in a session of its own. A program that cannot be
// executed gives a *checkpoint.LaunchError.
func (t *Tree) Start(s Spec) (*Process, error) { return nil, nil }

// Done is closed when the process has ended; others of the tree may live on.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit says how it ended; valid once Done is closed.
func (p *Process) Exit() Exit { return p.exit }
