package parallel

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/host/proctable"
	"github.com/godwit-hpc/godwit/internal/mpi/mpirun"
)

// A launcher and the limb that it grows on another host tell each other that they
// are there: the launcher writes a byte every Beat, and a limb that hears nothing
// for so long takes it for dead. A connection that ends is noticed at once.
const (
	Beat    = 3 * time.Second
	silence = 60 * time.Second
)

// RunRanks runs a shell line on another host than the agent's, as a part of the attempt
// whose mark is the first line of standard input, until nothing of it is left or
// standard input, the connection to the launcher, ends: then it ends all that came of
// it. It returns the exit code of this process.
func RunRanks(yield bool, line string) int {
	mark, err := ReadMark(os.Stdin)
	if err != nil {
		return rankRunnerFails(err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return rankRunnerFails(err)
	}
	if err := os.Setenv("GODWIT_ATTEMPT", mark); err != nil {
		return rankRunnerFails(err)
	}
	if yield {
		if lib := mpirun.YieldLibrary(); lib != "" {
			_ = os.Setenv("LD_PRELOAD", lib) // cannot fail: there is no NUL in it
		}
	}
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return rankRunnerFails(err)
	}
	go func() {
		AwaitLauncher(os.Stdin)
		endDescendants()
		os.Exit(1) // nobody is there any more who could be told how it went
	}()
	code := -1
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil: // no child is left
			return max(code, 0)
		case pid == cmd.Process.Pid && status.Signaled():
			code = 128 + int(status.Signal())
		case pid == cmd.Process.Pid && status.Exited():
			code = status.ExitStatus()
		}
	}
}

// maxMark bounds the length of a mark.
const maxMark = 4096

// ReadMark reads the first line, and nothing of what follows it.
func ReadMark(stdin io.Reader) (string, error) {
	var mark []byte
	for b := make([]byte, 1); len(mark) <= maxMark; {
		if _, err := io.ReadFull(stdin, b); err != nil {
			return "", fmt.Errorf("reading the mark of the attempt: %w", err)
		}
		if b[0] == '\n' {
			return string(mark), nil
		}
		mark = append(mark, b[0])
	}
	return "", errors.New("the mark of the attempt is too long")
}

// endDescendants ends whatever is below us. All come to us as their parents die, and are
// waited for elsewhere.
func endDescendants() {
	for {
		children, err := proctable.ChildrenOf(os.Getpid())
		if err != nil || len(children) == 0 {
			return
		}
		for _, pid := range children {
			_ = unix.Kill(pid, unix.SIGKILL) // it may have ended just now; only we start anything here
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// AwaitLauncher returns when the launcher is gone.
func AwaitLauncher(stdin *os.File) {
	heard := make(chan bool)
	go func() {
		buf := make([]byte, 64)
		for {
			_, err := stdin.Read(buf)
			heard <- err == nil
			if err != nil {
				return
			}
		}
	}()
	for {
		select {
		case alive := <-heard:
			if !alive {
				return
			}
		case <-time.After(silence):
			return
		}
	}
}

func rankRunnerFails(err error) int {
	fmt.Fprintln(os.Stderr, "godwit limb:", err)
	return 1
}
