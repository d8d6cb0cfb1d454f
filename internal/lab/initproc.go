package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// initSpec is what the first process of a host is told.
type initSpec struct {
	Host    string   // "": the switch, which is only a network
	Etc     string   // folder that is seen as /etc
	Private bool     // has its own /tmp, /run and /dev/shm
	Keep    []string // files and folders in these that are to be seen nevertheless
}

// ownFolders are those in which daemons on different hosts would meet.
var ownFolders = []struct{ path, options string }{{"/tmp", "mode=1777"}, {"/run", "mode=0755"},
	{"/dev/shm", "mode=1777"}}

// The ends of pipes that a process of ours is started with.
const (
	specFD  = 3
	readyFD = 4
)

// spawnProcess starts a process of ours that outlives this one, in a group of the lab.
// The process does nothing before it is told what to do, and ends if it is not:
// so there is no moment at which one exists that could not be found again.
func (l *Lab) spawnProcess(role, group string, flags uintptr, spec any) (Process, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return Process{}, err
	}
	log, err := os.OpenFile(filepath.Join(l.Dir, "log", group+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return Process{}, err
	}
	defer func() { _ = log.Close() }() // the process has its own
	specR, specW, err1 := os.Pipe()
	readyR, readyW, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		return Process{}, err
	}
	defer func() { _ = specW.Close() }()
	defer func() { _ = readyR.Close() }()
	cmd := exec.Command(self, role)
	cmd.Args[0] = l.groups.name + ":" + group // as it is seen in a list of processes
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + userPath, "GOMAXPROCS=2"}
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{specR, readyW}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Setsid: true}
	err = cmd.Start()
	_, _ = specR.Close(), readyW.Close() // the process has the other ones
	if err != nil {
		return Process{}, fmt.Errorf("starting %s: %w", group, err)
	}
	go func() { _ = cmd.Wait() }() // so that it does not stay a zombie while we run
	if err := l.groups.addProcess(group, "", cmd.Process.Pid); err != nil {
		return Process{}, err // it ends when we close the pipe
	}
	p := processNow(cmd.Process.Pid)
	if _, err := specW.Write(text); err != nil {
		return Process{}, err
	}
	if err := specW.Close(); err != nil {
		return Process{}, err
	}
	answer, err := io.ReadAll(readyR)
	if err == nil && string(answer) != readyWord {
		err = errors.New(strings.TrimSpace(string(answer)))
	}
	if err != nil {
		return Process{}, fmt.Errorf("%s did not start: %w", group, err)
	}
	return p, nil
}

const readyWord = "ready"

// readSpec reads what this process is to do. It is told nothing when whoever wanted
// it has gone.
func readSpec(spec any) bool {
	in := os.NewFile(specFD, "spec")
	defer func() { _ = in.Close() }()
	return json.NewDecoder(in).Decode(spec) == nil
}

// reportReady answers whoever started this process. It may have gone.
func reportReady(err error) {
	out := os.NewFile(readyFD, "ready")
	if err != nil {
		_, _ = out.WriteString(err.Error())
	} else {
		_, _ = out.WriteString(readyWord)
	}
	_ = out.Close()
}

// initMain is the first process of a host: it makes the host and then waits for
// orphans.
func initMain() error {
	var spec initSpec
	if !readSpec(&spec) {
		return nil
	}
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGPIPE)
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	err := spec.buildNamespace()
	reportReady(err)
	if err != nil {
		return err
	}
	for range children {
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if err != nil && !errors.Is(err, unix.EINTR) || err == nil && pid <= 0 {
				break
			}
		}
	}
	return nil
}

func (s *initSpec) buildNamespace() error {
	if s.Host != "" {
		if err := unix.Sethostname([]byte(s.Host)); err != nil {
			return err
		}
		if err := s.mountFiles(); err != nil {
			return err
		}
	}
	// Where these cannot be written there are a few packets more on the links.
	for _, which := range []string{"all", "default"} {
		if s.Host == "" || which == "default" {
			_ = os.WriteFile("/proc/sys/net/ipv6/conf/"+which+"/disable_ipv6", []byte("1"), 0)
		}
	}
	return nil
}

func (s *initSpec) mountFiles() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	keep := map[string]int{}
	for _, path := range append(s.Keep, s.Etc) {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		keep[path] = fd
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	if s.Private {
		for _, f := range ownFolders {
			if err := os.MkdirAll(f.path, 0o755); err != nil {
				return err
			}
			if err := unix.Mount("tmpfs", f.path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, f.options); err != nil {
				return fmt.Errorf("mounting %s: %w", f.path, err)
			}
		}
		for _, path := range s.Keep {
			if err := bindMount(keep[path], path); err != nil {
				return err
			}
		}
		// What programs expect to find after a boot.
		if err := errors.Join(os.MkdirAll("/run/sshd", 0o755), os.MkdirAll("/run/lock", 0o755),
			os.Chmod("/run/lock", 0o1777)); err != nil {
			return err
		}
	}
	if err := unix.Mount("/proc/self/fd/"+strconv.Itoa(keep[s.Etc]), "/etc", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("covering /etc: %w", err)
	}
	return nil
}

// bindMount makes a file or folder seen again at its path, which something covers.
func bindMount(fd int, path string) error {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		err = os.MkdirAll(path, 0o755)
	default:
		if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.WriteFile(path, nil, 0o644)
		}
	}
	if err == nil {
		err = unix.Mount("/proc/self/fd/"+strconv.Itoa(fd), path, "", unix.MS_BIND|unix.MS_REC, "")
	}
	if err != nil {
		return fmt.Errorf("showing %s: %w", path, err)
	}
	return nil
}
