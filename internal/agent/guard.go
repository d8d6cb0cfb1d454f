package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/host/proctable"
)

// An agent that dies is replaced this often, after pauses that grow; then the
// cluster's manager is told that it is no use.
const (
	guardTries = 5
	guardPause = 200 * time.Millisecond
)

// RunGuard runs an agent on the folder dir where no driver is near to see it die:
// below the manager of a cluster. If the agent dies, what it leaves is ended and
// another agent tells what became of the attempt. It returns the exit code of
// this process.
func RunGuard(dir string) int {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, "godwit agent:", err)
		return 1
	}
	// What is meant for the job is meant for the agent; the others come to all
	// of us when a terminal goes away.
	leave := make(chan os.Signal, 4)
	signal.Notify(leave, unix.SIGTERM)
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2)
	pause := guardPause
	for range guardTries {
		code, err := guardOnce(dir, leave)
		if err != nil {
			fmt.Fprintln(os.Stderr, "godwit agent:", err)
		} else if code == 0 {
			return 0
		}
		time.Sleep(pause)
		pause *= 2
	}
	return 1
}

// guardOnce runs one agent to its end, and ends what it left.
func guardOnce(dir string, leave <-chan os.Signal) (int, error) {
	cmd := exec.Command("/proc/self/exe", "agent", dir)
	cmd.Args[0] = os.Args[0]
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", os.Stdout, os.Stderr
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	agent := cmd.Process.Pid
	over := make(chan struct{})
	defer close(over)
	go func() {
		for {
			select {
			case <-leave:
				_ = unix.Kill(agent, unix.SIGTERM) // it is our child and not waited for yet, or this fails
			case <-over:
				return
			}
		}
	}()
	status, err := reapUntil(agent)
	if err != nil {
		return 1, err
	}
	if err := endOrphans(); err != nil {
		return 1, err
	}
	if status.Exited() {
		return status.ExitStatus(), nil
	}
	return 1, fmt.Errorf("the agent on %s was ended by signal %d", dir, status.Signal())
}

// reapUntil waits for children, orphans among them, until that one has ended.
func reapUntil(pid int) (unix.WaitStatus, error) {
	for {
		var status unix.WaitStatus
		got, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case got == pid && (status.Exited() || status.Signaled()):
			return status, nil
		}
	}
}

// endOrphans ends whatever is still below us. All come to us as their parents
// die, so it ends when there is no child any more.
func endOrphans() error {
	for {
		children, err := proctable.ChildrenOf(os.Getpid())
		if err != nil {
			return err
		}
		for _, pid := range children {
			_ = unix.Kill(pid, unix.SIGKILL) // nobody else can wait for it: the number is still its own
		}
		if _, err := unix.Wait4(-1, nil, 0, nil); errors.Is(err, unix.ECHILD) {
			return nil
		} else if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
