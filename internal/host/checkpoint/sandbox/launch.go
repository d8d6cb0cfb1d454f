package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/host/cgroup"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
)

// Exit codes of a shell for programs that it cannot execute.
const (
	notFound      = 127
	notExecutable = 126
)

// launchSupervisor starts the supervisor and waits until the program runs.
func launchSupervisor(ctx context.Context, binary string, p *checkpoint.Program, c cell, image string) (*run, error) {
	l, theirs, err := newLine()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }() // the supervisor has its own by then
	log, err := os.OpenFile(c.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("making the sandbox's log: %w", err)
	}
	defer func() { _ = log.Close() }() // the supervisor has its own by then

	args := []string{"supervise", "-bundle=" + c.bundleFolder(), "-dcache=" + fmt.Sprint(keptOpen())}
	if image != "" {
		args = append(args, "-image="+image)
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir = c.stateFolder()
	cmd.Env = []string{"GODWIT_ATTEMPT=" + p.Mark, "PATH=" + os.Getenv("PATH")}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{theirs, p.Stdout, p.Stderr}
	cmd.SysProcAttr = identity{c.record.UID, c.record.GID}.processAttributes()

	r := newRun(cmd, l, c)
	if err := r.startSupervisor(p.CPUs); err != nil {
		_ = l.conn.Close() // nobody is at the other end
		return nil, fmt.Errorf("starting %s: %w", binary, err)
	}
	_ = theirs.Close() // so that the end of the supervisor is the end of the line
	err = joinGroup(p.Cgroup, cmd.Process.Pid, p.Limits.Processes)
	if err == nil {
		err = l.sendOrder("start")
	}
	if err == nil {
		err = r.awaitStart(ctx)
	}
	if err != nil {
		r.KillProgram()
		return nil, explainStart(err, p)
	}
	return r, nil
}

// joinGroup puts the supervisor into the attempt's cgroup before it starts anything.
// The sandbox keeps a limit on the program's processes itself; those of the host
// are its own, several for each, and it does not survive to be refused one.
func joinGroup(group string, pid, processes int) error {
	if group == "" {
		return nil
	}
	g, err := cgroup.OpenGroup(group)
	if err != nil {
		return err
	}
	if processes > 0 {
		if err := g.LimitPids(1000 + 20*processes); err != nil {
			return err
		}
	}
	return g.AddProcess(pid)
}

// startError is what gVisor said when it could not start the program.
type startError struct{ said string }

func (e *startError) Error() string { return "the sandbox did not start: " + e.said }

// explainStart turns gVisor's words into the exit codes of a shell where the program
// could not be executed.
func explainStart(err error, p *checkpoint.Program) error {
	program := p.Argv[0]
	var failed *startError
	if !errors.As(err, &failed) {
		return err
	}
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(failed.said, w) {
				return true
			}
		}
		return false
	}
	if !has("failed to load", "finding executable", "error finding", "creating process", "failed to create process",
		"error executing") {
		return err
	}
	switch {
	case has("permission denied", "is a directory"):
		return &checkpoint.LaunchError{Code: notExecutable, Why: program + " is not executable"}
	case has("exec format error"):
		return &checkpoint.LaunchError{Code: notExecutable, Why: program + " is not a program for this machine"}
	case has("no such file", "not found", "not a directory"):
		if info, err := os.Stat(pathWithin(p.Dir, program)); err == nil && info.IsDir() {
			return &checkpoint.LaunchError{Code: notExecutable, Why: program + " is not executable"}
		}
		return &checkpoint.LaunchError{Code: notFound, Why: whyNotFound(program, p.Dir)}
	}
	return err
}

// pathWithin is the path of a file that may be named relative to a folder.
func pathWithin(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// whyNotFound says more than that a program was not found, where more is known.
func whyNotFound(program, dir string) string {
	if !strings.Contains(program, "/") {
		return program + " was not found in $PATH"
	}
	path := pathWithin(dir, program)
	if _, err := os.Stat(path); err != nil {
		return program + " was not found"
	}
	for _, own := range ownFolders {
		if isBelow(path, "/"+own) && !isBelow(path, dir) {
			return fmt.Sprintf("%s is not there inside the sandbox, which has a /%s of its own: put it into the job's folder",
				program, own)
		}
	}
	return program + " needs another program to run it, and that was not found"
}

// keptOpen is how many files gVisor may keep open for being used again: a part
// of what this process may open.
func keptOpen() uint64 {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 200
	}
	return max(100, min(1000, l.Max/8))
}

// startOn starts a command that may run on the given processors only, from this
// thread, and lets the thread itself run where it did.
func startOn(cmd *exec.Cmd, cpus []int) error {
	if len(cpus) == 0 {
		return cmd.Start()
	}
	var before, wanted unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("reading the cores of this thread: %w", err)
	}
	for _, cpu := range cpus {
		wanted.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &wanted); err != nil {
		return fmt.Errorf("restricting the program to the cores %v: %w", cpus, err)
	}
	err := cmd.Start()
	if back := unix.SchedSetaffinity(0, &before); back != nil && err == nil {
		// The thread ends with the program, so nothing else suffers.
		runtime.KeepAlive(back)
	}
	return err
}
