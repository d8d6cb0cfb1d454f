package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// entrance says how to go into a host.
type entrance struct {
	Dir    string // of the lab
	Host   string
	User   string `json:",omitempty"` // "": root
	Group  string `json:",omitempty"` // cgroup within the host's by which it is ended
	Detach bool   `json:",omitempty"` // it stays when we have ended
}

// enterCommand is a command that runs argv on the host. It goes through a process of
// ours: one that has several threads cannot change its mount namespace, and one
// cannot change its own pid namespace at all.
func (h *Host) enterCommand(ctx context.Context, e entrance, argv []string) *exec.Cmd {
	e.Dir, e.Host = h.lab.Dir, h.Name
	spec, err := json.Marshal(e)
	cmd := exec.CommandContext(ctx, self, append([]string{roleEnter, string(spec), "--"}, argv...)...)
	switch {
	case err != nil:
		cmd.Err = err
	case len(argv) == 0:
		cmd.Err = errors.New("no command to run on " + h.Name)
	}
	return cmd
}

// namespaces of a host, in the order in which they are entered: the mount
// namespace last, as /proc of the host knows only what is in it.
var namespaces = []struct {
	name string
	flag int
}{{"net", unix.CLONE_NEWNET}, {"uts", unix.CLONE_NEWUTS}, {"ipc", unix.CLONE_NEWIPC}, {"pid", unix.CLONE_NEWPID},
	{"mnt", unix.CLONE_NEWNS}}

func enterMain(args []string) (int, error) {
	var e entrance
	if len(args) < 3 {
		return 125, errors.New("not enough arguments")
	}
	if err := json.Unmarshal([]byte(args[0]), &e); err != nil {
		return 125, err
	}
	// The thread that has gone inside is the one that starts the program, and
	// must live as long: the program is ended when it ends.
	runtime.LockOSThread()
	then, err := goInside(&e)
	if err != nil {
		return 125, err
	}
	spec, err := json.Marshal(then)
	if err != nil {
		return 125, err
	}
	cmd := exec.Command(self, append([]string{roleExec, string(spec)}, args[1:]...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2)
	if err := cmd.Start(); err != nil {
		return 126, err
	}
	if e.Detach {
		return 0, nil
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s) // it may have ended
		}
	}()
	return exitCode(cmd.Wait())
}

// exitCode tells how a program ended as a shell does.
func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0, err
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return exit.ExitCode(), nil
}

// departure is what is left to do inside.
type departure struct {
	UID, GID int
	Groups   []int
	Dir      string
	Stay     bool // when who started it ends
}

// goInside brings this thread into a host, and its children into the host's
// processes.
func goInside(e *entrance) (*departure, error) {
	l, err := openDir(e.Dir)
	if err != nil {
		return nil, err
	}
	h, err := l.FindHost(e.Host)
	if err != nil {
		return nil, err
	}
	if !h.IsUp() {
		return nil, fmt.Errorf("the host %s is down", h.Name)
	}
	then := &departure{Stay: e.Detach}
	if then.Dir, err = os.Getwd(); err != nil {
		then.Dir = "/"
	}
	if e.User != "" {
		u, groups, err := l.findAccount(e.User)
		if err != nil {
			return nil, err
		}
		then.UID, then.GID, then.Groups = u.ID, groups[0], groups[1:]
	}
	if err := l.groups.addProcess(h.Name, e.Group, os.Getpid()); err != nil {
		return nil, err
	}
	var fds []int
	for _, ns := range namespaces {
		fd, err := unix.Open("/proc/"+strconv.Itoa(h.Init.PID)+"/ns/"+ns.name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("the host %s: %w", h.Name, err)
		}
		fds = append(fds, fd)
	}
	if !h.IsUp() { // what was opened may be another's of the same number
		return nil, fmt.Errorf("the host %s is down", h.Name)
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return nil, err
	}
	for i, ns := range namespaces {
		if err := unix.Setns(fds[i], ns.flag); err != nil {
			return nil, fmt.Errorf("entering the %s namespace of %s: %w", ns.name, h.Name, err)
		}
	}
	return then, nil
}

// execMain becomes the program. It is a step of its own because only from
// within the host's processes can one ask to be ended with the one outside.
func execMain(args []string) error {
	var d departure
	if len(args) < 3 {
		return errors.New("not enough arguments")
	}
	if err := json.Unmarshal([]byte(args[0]), &d); err != nil {
		return err
	}
	argv := args[2:] // after --
	runtime.LockOSThread()
	if d.UID != 0 {
		if err := errors.Join(syscall.Setgroups(d.Groups), syscall.Setgid(d.GID), syscall.Setuid(d.UID)); err != nil {
			return err
		}
	}
	if d.Stay {
		if _, err := unix.Setsid(); err != nil {
			return err
		}
	} else {
		if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
			return err
		}
		if os.Getppid() != 0 { // who started us is outside, or has ended
			return errors.New("whoever wanted it has ended")
		}
	}
	if err := os.Chdir(d.Dir); err != nil {
		return err
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", argv[0], syscall.Exec(path, argv, os.Environ()))
}
