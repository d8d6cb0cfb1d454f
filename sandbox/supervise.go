package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"gvisor.dev/gvisor/pkg/control/client"
	"gvisor.dev/gvisor/pkg/log"
	"gvisor.dev/gvisor/pkg/state/statefile"
	"gvisor.dev/gvisor/pkg/urpc"
	"gvisor.dev/gvisor/runsc/boot"
	"gvisor.dev/gvisor/runsc/config"
	"gvisor.dev/gvisor/runsc/container"
	"gvisor.dev/gvisor/runsc/flag"
	rsandbox "gvisor.dev/gvisor/runsc/sandbox"
	"gvisor.dev/gvisor/runsc/specutils"
)

// What the parent hands over. Standard output and error are the supervisor's
// own log, so that nothing of gVisor's gets into the program's output.
const (
	ordersFD = 3 // a socket: orders come in, answers and events go out, one JSON object a line
	stdoutFD = 4 // the program's
	stderrFD = 5
)

// order is what the parent wants done. Do is start, which comes first and has no
// answer, then pause, resume, save, files, denied, save-gpus, restore-gpus, terminate or stop.
type order struct {
	Number int    `json:"number"`
	Do     string `json:"do"`
	Dir    string `json:"dir,omitempty"` // of save: where the image goes
}

// message is what goes out: the answer to an order, or an event.
type message struct {
	Number int     `json:"number,omitempty"` // of the order this answers; 0: an event
	Error  string  `json:"error,omitempty"`
	Files  *files  `json:"files,omitempty"`  // the answer to files
	Denied *denied `json:"denied,omitempty"` // the answer to denied

	Running *running `json:"running,omitempty"`
	Failed  string   `json:"failed,omitempty"` // it could not be started
	Ended   *ended   `json:"ended,omitempty"`
}

type running struct {
	Sentry int `json:"sentry"` // the process that holds the program
	Gofer  int `json:"gofer"`
}

type ended struct {
	Status uint32 `json:"status"` // as wait(2) gives it
	Lost   bool   `json:"lost,omitempty"`
	Why    string `json:"why,omitempty"`
	// CPU is what everything here has used; 0 if the sandbox died too early to
	// be asked.
	CPU    time.Duration `json:"cpu,omitempty"`
	Denied *denied       `json:"denied,omitempty"`
}

// denied is what the program tried in vain because it runs in a sandbox, and what it
// leaves in its /tmp: see denied_calls.go.in.
type denied struct {
	Connects []string `json:"connects,omitempty"`
	Writes   []string `json:"writes,omitempty"`
	Missing  []string `json:"missing,omitempty"`
	Left     []string `json:"left,omitempty"`
}

// files are the files that the program has mapped and that it has open, by
// their names inside.
type files struct {
	Mapped []string `json:"mapped,omitempty"`
	Open   []string `json:"open,omitempty"`
}

// supervisor is one sandbox and the line to the parent.
type supervisor struct {
	conf   *config.Config
	c      *container.Container
	box    *rsandbox.Sandbox // also when the container has forgotten it, after the program's end
	sentry int               // the process that holds the program
	gpu    *gpuState         // nil if the program was given no GPU

	orders *json.Decoder
	mu     sync.Mutex
	line   *os.File
}

// superviseProgram runs the program of a bundle until it ends. The working folder is
// the sandbox's own, empty but for the mark: gVisor is told of it by a short
// name because the name of a socket in it must not be long.
func superviseProgram(args []string) {
	// The children die with the thread that started them; this one lives as
	// long as the process.
	runtime.LockOSThread()
	fs := flag.NewFlagSet("supervise", flag.ContinueOnError)
	bundle := fs.String("bundle", "", "folder of the OCI bundle")
	image := fs.String("image", "", "folder of the image to continue; none: start from the beginning")
	dcache := fs.String("dcache", "1000", "how many files are kept open for being used again")
	if err := fs.Parse(args); err != nil {
		exitWithError("reading the arguments", err)
	}
	log.SetTarget(log.GoogleEmitter{Writer: &log.Writer{Next: io.Discard}}) // what matters comes back as an error
	for _, fd := range []int{ordersFD, stdoutFD, stderrFD} {
		unix.CloseOnExec(fd)
	}
	line := os.NewFile(ordersFD, "orders")
	s := &supervisor{line: line, orders: json.NewDecoder(line)}
	// The parent may have something to do with this process first, such as
	// putting it into a cgroup.
	var first order
	if err := s.orders.Decode(&first); err != nil || first.Do != "start" {
		exitWithError("waiting for the order to start", fmt.Errorf("got %q: %w", first.Do, err))
	}
	var err error
	if s.conf, err = gvisorConfig(*dcache); err != nil {
		exitWithError("setting up", err)
	}
	if err := s.startProgram(*bundle, *image); err != nil {
		_, _ = fmt.Fprintln(ownLog, err)
		s.sendMessage(message{Failed: errorLine(err)})
		s.exitProcess(1)
	}
}

// gvisorConfig is gVisor's configuration: no network, because a network of the
// host cannot be saved; files as they are, without layers over them.
func gvisorConfig(dcache string) (*config.Config, error) {
	all := flag.NewFlagSet("runsc", flag.ContinueOnError)
	config.RegisterFlags(all)
	for name, value := range map[string]string{
		"root":           "/proc/self/cwd",
		"platform":       "systrap",
		"network":        "none",
		"ignore-cgroups": "true",
		"overlay2":       "none",
		"host-settings":  "ignore",
		"panic-log":      "/proc/self/cwd/panic",
		"dcache":         dcache,
	} {
		if err := all.Set(name, value); err != nil {
			return nil, fmt.Errorf("%s=%s: %w", name, value, err)
		}
	}
	return config.NewFromFlags(all)
}

// startProgram runs the program, tells the parent, and obeys until it has ended. It
// returns only if the program could not be started.
func (s *supervisor) startProgram(bundle, image string) error {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	// gVisor gives the program what these variables hold.
	os.Stdin, os.Stdout, os.Stderr = null, os.NewFile(stdoutFD, "stdout"), os.NewFile(stderrFD, "stderr")
	spec, err := specutils.ReadSpec(bundle, s.conf)
	if err != nil {
		return err
	}
	if spec.Linux != nil && len(spec.Linux.Devices) > 0 {
		if err := s.prepareGPUs(spec); err != nil {
			return err
		}
	}
	s.c, err = container.New(s.conf, container.Args{ID: "godwit", Spec: spec, BundleDir: bundle, Attached: true})
	if err != nil {
		return fmt.Errorf("making the sandbox: %w", err)
	}
	line, err := s.connectSandbox(image)
	if err == nil && image != "" && s.gpu != nil {
		err = s.gpu.restore()
	}
	if err != nil {
		return s.giveUp(err)
	}
	// Only the sandbox holds the program's output from now on.
	_, _ = os.Stdout.Close(), os.Stderr.Close()
	s.box = s.c.Sandbox
	s.sentry = s.box.Getpid()
	s.sendMessage(message{Running: &running{Sentry: s.sentry, Gofer: s.c.GoferPid.Load()}})
	go s.obeyOrders()
	s.sendMessage(message{Ended: s.waitEnd(line)})
	s.exitProcess(0)
	return nil
}

// connectSandbox runs the program and opens a line to the sandbox over which its end is
// learnt. A new program that ends at once still has somebody to tell, because
// the line is there before; one that is continued cuts such a line.
func (s *supervisor) connectSandbox(image string) (*urpc.Client, error) {
	if image != "" {
		if err := s.c.Restore(s.conf, image, false, false, nil); err != nil {
			return nil, err
		}
	}
	line, err := client.ConnectTo(s.c.Sandbox.ControlSocketPath)
	if err != nil && image == "" {
		return nil, fmt.Errorf("reaching the sandbox: %w", err)
	}
	if image == "" {
		if err := s.c.Start(s.conf); err != nil {
			return nil, err
		}
	}
	return line, nil
}

// giveUp ends a sandbox whose program does not run.
func (s *supervisor) giveUp(err error) error {
	_ = s.c.Destroy()
	return err
}

// waitEnd waits until the program has ended and tells its end from that of its
// sandbox. A sandbox that answers knows how the program ended, unless it ended
// the program itself because it had lost its files.
func (s *supervisor) waitEnd(line *urpc.Client) *ended {
	var status unix.WaitStatus
	var cpu time.Duration
	var refused *denied
	answered, lostFiles := false, false
	if line != nil {
		answered = line.Call(boot.ContMgrWait, &s.c.ID, &status) == nil
		if answered {
			cpu = cpuTime(os.Getpid())
			refused, _ = askDenied(line) // a sandbox that just died knows nothing
		}
		_ = line.Close() // the sandbox does not end before
		lostFiles = answered && status.Signaled() && wasKilled(s.c.GoferPid.Load())
	}
	own, err := s.c.Wait()
	_ = s.c.Destroy()
	switch why := firstLine("panic"); {
	case lostFiles:
		return &ended{Lost: true, Why: "the part of the sandbox that opens files died", CPU: cpu}
	case answered:
		return &ended{Status: uint32(status), CPU: cpu, Denied: refused}
	case why != "":
		return &ended{Lost: true, Why: "the sandbox failed: " + strings.TrimPrefix(why, "panic: ")}
	case err != nil:
		return &ended{Lost: true, Why: "the sandbox stopped answering: " + err.Error()}
	case own.Signaled():
		return &ended{Lost: true, Why: fmt.Sprintf("the sandbox was ended by signal %d", int(own.Signal()))}
	default:
		// It ended before it could be asked, and ends with its program's code.
		return &ended{Status: uint32(own)}
	}
}

// wasKilled says whether a child that is about to end, or has ended, was ended
// by a signal. It stays to be waited for.
func wasKilled(pid int) bool {
	const exited = 1 // CLD_EXITED: it ended by itself
	var info unix.Siginfo
	for range 500 {
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err != nil || info.Signo != 0 {
			return err == nil && info.Code != exited
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// stillRuns says whether a child has not ended. One that has stays to be waited for.
func stillRuns(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo == 0
}

// errorLine is an error without the stack that gVisor may append to it.
func errorLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimSuffix(line, ":")
}

// firstLine is what stands first in a file, as far as it is short.
func firstLine(name string) string {
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only read
	head := make([]byte, 200)
	n, _ := io.ReadFull(f, head)
	for i, c := range head[:n] {
		if c == '\n' {
			return string(head[:i])
		}
	}
	return string(head[:n])
}

// obeyOrders takes orders until there is nobody left to give them; then the program
// ends too.
func (s *supervisor) obeyOrders() {
	for {
		var o order
		if err := s.orders.Decode(&o); err != nil {
			_ = s.killSandbox()
			return
		}
		answer := message{Number: o.Number}
		if err := s.doOrder(o, &answer); err != nil {
			answer.Error = errorLine(err)
		}
		s.sendMessage(answer)
	}
}

// doOrder carries out one order. Every save leaves the program as it was: one that
// fails must not have ended it.
func (s *supervisor) doOrder(o order, answer *message) error {
	switch o.Do {
	case "pause":
		return s.box.Pause(s.c.ID)
	case "resume":
		return s.box.Resume(s.c.ID)
	case "save":
		return s.saveImage(o.Dir)
	case "files":
		var err error
		answer.Files, err = s.filesInUse()
		return err
	case "denied":
		line, err := client.ConnectTo(s.box.ControlSocketPath)
		if err != nil {
			return fmt.Errorf("reaching the sandbox: %w", err)
		}
		defer func() { _ = line.Close() }() // all has been said
		answer.Denied, err = askDenied(line)
		return err
	case "save-gpus", "restore-gpus":
		if s.gpu == nil {
			return errors.New("the program was given no GPU")
		}
		if o.Do == "save-gpus" {
			return s.gpu.save()
		}
		return s.gpu.restore()
	case "terminate": // the program may still write what it wants to keep
		return s.box.SignalContainer(s.c.ID, unix.SIGTERM, true)
	case "stop":
		return s.killSandbox()
	default:
		return errors.New("no such order: " + o.Do)
	}
}

// askDenied asks the sandbox what its program tried in vain.
func askDenied(line *urpc.Client) (*denied, error) {
	d := &denied{} // its fields are those of kernel.DeniedCalls, but for capital letters
	if err := line.Call("containerManager.Denied", &struct{}{}, d); err != nil {
		return nil, err
	}
	return d, nil
}

// saveImage writes an image. When the part of the sandbox that opens files dies, gVisor
// sends the program SIGKILL, also while it stands still; an image made after that
// would hold a program that dies whenever it is continued.
func (s *supervisor) saveImage(dir string) error {
	err := s.box.Checkpoint(s.conf, s.c.ID, dir, rsandbox.CheckpointOpts{
		Compression: statefile.CompressionLevelNone,
		Resume:      true,
	})
	if err == nil && !stillRuns(s.c.GoferPid.Load()) {
		err = errors.New("the part of the sandbox that opens files died")
	}
	return err
}

// killSandbox ends the program with its sandbox. What is left to do then is done where
// its end is waited for.
func (s *supervisor) killSandbox() error {
	return unix.Kill(s.sentry, unix.SIGKILL)
}

// filesInUse asks the sandbox which files are in use.
func (s *supervisor) filesInUse() (*files, error) {
	dump, err := s.box.ProcfsDump()
	if err != nil {
		return nil, err
	}
	f := &files{}
	mapped, open := map[string]bool{}, map[string]bool{}
	for _, p := range dump {
		for _, m := range p.Maps {
			if m.Inode != 0 && !mapped[m.Pathname] {
				mapped[m.Pathname] = true
				f.Mapped = append(f.Mapped, m.Pathname)
			}
		}
		for _, d := range p.FDs {
			if d.Mode&unix.S_IFMT == unix.S_IFREG && !open[d.Path] {
				open[d.Path] = true
				f.Open = append(f.Open, d.Path)
			}
		}
	}
	return f, nil
}

// sendMessage tells the parent something. A parent that is gone is noticed where
// orders are read.
func (s *supervisor) sendMessage(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := json.Marshal(m)
	if err != nil {
		exitWithError("telling the parent", err)
	}
	_, _ = s.line.Write(append(text, '\n'))
}

// exitProcess ends the process once whatever is being said has been said.
func (s *supervisor) exitProcess(code int) {
	s.mu.Lock()
	os.Exit(code)
}
