// Package checkpoint is the port through which a program is started so that it
// can be saved and continued elsewhere. A Method is one way of doing that: in a
// gVisor sandbox, by the program itself when signalled, by the program itself
// with exit code 85, or not at all, from the beginning. Every method passes the
// one suite in checkpointtest. The port knows processes, folders and pipes; it
// must not know of brokers, depots or predictions.
package checkpoint

import (
	"context"
	"errors"
	"os"
	"time"
)

// Method is one way to run a program so that it can be continued elsewhere.
type Method interface {
	// Name is the method's name in job files: sandbox, signal, exit85, srs, restart.
	Name() string
	// StartProgram runs the program: from the beginning if image is "", else from the
	// image in that folder, which a SaveImage of the same method filled. Before a
	// StartProgram from an image the work folder holds again what it held when the image was
	// saved. Start returns once the program runs. A program that cannot be
	// executed gives a *LaunchError.
	StartProgram(ctx context.Context, p *Program, image string) (Run, error)
}

// Program is what is to be run, and in what surroundings.
type Program struct {
	Argv    []string
	Restart []string // run instead of Argv when starting from an image of signal or exit85; nil: Argv again
	Env     []string // complete; methods add only what they need
	Dir     string   // the work folder: absolute, writable, this attempt's alone
	Scratch string   // folder of this attempt for the method's own files; outside Dir
	Stdin   string   // file below Dir that it reads as its standard input; "": it has none
	Stdout  *os.File // write ends of pipes (or append-mode files); the method does not close them
	Stderr  *os.File
	Mark    string // value of the variable GODWIT_ATTEMPT, by which every process of the attempt is found again
	CPUs    []int  // processors it may run on; nil: any
	Cgroup  string // folders of cgroups to join are the launcher's business; "" if none
	Limits  Limits
	Report  string // folder by which the program and whoever runs it talk, named in Env; "": none
	// Settings of the job's checkpoint section.
	Signal      string   // for signal: what to send, e.g. "USR1", "TERM"
	Files       []string // for signal, exit85: what the program writes, relative to Dir
	CPUFeatures []string // for sandbox: show the program only these; nil: all of this host
	GPUs        []string // for sandbox: device files of the GPUs it was given, such as /dev/nvidia0; nil: none
}

// Limits bound what a program may use; 0 is no limit.
type Limits struct {
	Processes int
	Memory    int64
	FileSize  int64
}

// Run is a program that runs. Its methods may be called from several
// goroutines; only one SaveImage runs at a time.
type Run interface {
	// RootPID is the process whose descendants are the whole program.
	RootPID() int
	// SaveImage writes an image into the empty folder dir. While the program stands
	// still, and its work folder and its output with it, frozen is called once;
	// its error makes the save fail. With stop the program does not run on
	// after a save that succeeded: Done is closed and Result says Saved. After a
	// save that failed the program runs on as if nothing had happened
	// (or has ended by itself), whatever stop says.
	SaveImage(ctx context.Context, dir string, stop bool, frozen func() error) error
	// KillProgram ends the program and everything it started, and returns when none of
	// it is left.
	KillProgram()
	// TerminateProgram sends SIGTERM to the program and everything it started, kills after
	// a time of grace what has not ended by then, and returns when none of it is
	// left. Without grace it kills at once. It may be called again, with less grace.
	TerminateProgram(grace time.Duration)
	// Done is closed when no process of the program is left.
	Done() <-chan struct{}
	// Result says how it ended; valid once Done is closed.
	Result() Result
}

// Suspender is a Run whose program can be made to stand still for as long as its user wants. It keeps what it has.
// Whoever ends or saves it has it go on before.
type Suspender interface {
	SuspendProgram(ctx context.Context) error
	ContinueProgram() error
}

// Result is how a run ended.
type Result struct {
	Code   int  // exit code; 128 + n if signal n ended it
	Signal int  // that signal, 0 if none
	Saved  bool // it ended because it was saved and stopped
	// Lost says that the run ended through no fault of the program (its sandbox
	// died): it may be started again. Why says what happened.
	Lost bool
	Why  string
	// CPU is what the program and all its children used, as far as the method
	// knows.
	CPU time.Duration
}

// ErrNothingToSave is what SaveImage of a method returns that cannot save: the
// program can only be started from the beginning.
var ErrNothingToSave = errors.New("the program cannot be saved; it can only be started again from the beginning")

// LaunchError says that the program could not be executed: the code a shell
// would give (127 not found, 126 not executable) and one line for the user.
type LaunchError struct {
	Code int
	Why  string
}

func (e *LaunchError) Error() string { return e.Why }
