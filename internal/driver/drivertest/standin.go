package drivertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// RunAgent is an agent as simple as one can be that keeps to the folder's rules,
// for drivers' tests: it returns the exit code. What it does beside running the
// program is told by variables of the job: STANDIN_SLOW=500ms waits before it
// takes the lock, STANDIN_BROKEN=1 gives up at once.
func RunAgent(dir string) int {
	if err := runAgent(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func runAgent(dir string) error {
	var a wire.Attempt
	if err := readJSON(filepath.Join(dir, "attempt.json"), &a); err != nil {
		return err
	}
	if a.Spec.Env["STANDIN_BROKEN"] != "" {
		return errors.New("this agent is broken")
	}
	if slow, err := time.ParseDuration(a.Spec.Env["STANDIN_SLOW"]); err == nil {
		time.Sleep(slow)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil // another is at work
	} else if err != nil {
		return err
	}
	_ = lock.Truncate(0)
	if _, err := lock.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0); err != nil {
		return err
	}
	for _, name := range []string{"fence", "known"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return nil
		}
	}
	end, err := runOnce(dir, &a)
	if err != nil {
		return err
	}
	deliverMessage(&a, end)
	return os.Link(filepath.Join(dir, "attempt.json"), filepath.Join(dir, "known"))
}

// runOnce runs the program, or finds out how an earlier agent fared with it.
func runOnce(dir string, a *wire.Attempt) (wire.Message, error) {
	started, exit := filepath.Join(dir, "started"), filepath.Join(dir, "exit.json")
	f, err := os.OpenFile(started, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		if _, err := proctree.KillLeftovers(context.Background(), a.Mark); err != nil {
			return wire.Message{}, err
		}
		var end wire.Message
		if readJSON(exit, &end) == nil {
			return end, nil
		}
		return wire.Message{Seq: 1 << 20, Kind: wire.Lost, Why: "its agent died"}, nil
	}
	if err != nil {
		return wire.Message{}, err
	}
	if err := f.Close(); err != nil {
		return wire.Message{}, err
	}
	// So that what the program leaves behind stays below us.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return wire.Message{}, err
	}
	end := wire.Message{Seq: 1, Kind: wire.Ended, Code: runProgram(a)}
	data, err := json.Marshal(end)
	if err != nil {
		return end, err
	}
	if err := os.WriteFile(exit+".new", data, 0o600); err != nil {
		return end, err
	}
	return end, os.Rename(exit+".new", exit)
}

func runProgram(a *wire.Attempt) int {
	cmd := exec.Command(a.Spec.Argv[0], a.Spec.Argv[1:]...)
	cmd.Env = append(os.Environ(), proctree.Variable+"="+a.Mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		return exit.ExitCode()
	} else if err != nil {
		return 127
	}
	return 0
}

// deliverMessage tells the broker until it acknowledges, or the agent is told to end.
func deliverMessage(a *wire.Attempt, m wire.Message) {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		if tellBroker(a, m) {
			return
		}
		time.Sleep(wait)
	}
}

func tellBroker(a *wire.Attempt, m wire.Message) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := wire.DialBroker(ctx, a.Broker)
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }() // all is said
	hello := wire.Message{Kind: wire.Hello, Job: a.Job, Epoch: a.Epoch, Part: a.Part, Mark: a.Mark}
	if wire.WriteFrame(c, hello) != nil || wire.WriteFrame(c, m) != nil {
		return false
	}
	for {
		var o wire.Order
		if wire.ReadFrame(c.R, &o) != nil {
			return false
		}
		if o.Kind == wire.Kill || o.Kind == wire.Ack && o.Seq >= m.Seq {
			return true
		}
	}
}

func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}
