package proctree

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
)

// The test binary is also the programs that the tests start: its first
// argument names which.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && roles[os.Args[1]] != nil {
		roles[os.Args[1]](os.Args[2:])
		os.Exit(0)
	}
	code := m.Run()
	var r reader
	// The reaper comes after the test.
	clocktest.PollLoop{Limit: 5 * time.Second}.Until(func() bool { return len(r.ourChildren()) == 0 })
	for _, pid := range r.ourChildren() {
		s, _ := r.readStat(pid)
		fmt.Printf("the tests left process %d (%s, %c) behind\n", pid, s.comm, s.state)
		code = 1
	}
	os.Exit(code)
}

var roles map[string]func(args []string)

func init() {
	roles = map[string]func(args []string){
		// MS [FILE [GO]]: use that much processor time, write how much it was; first wait for GO
		"burn": func(args []string) {
			if len(args) > 2 {
				clocktest.PollLoop{Pause: time.Millisecond}.Until(func() bool {
					_, err := os.Stat(args[2])
					return err == nil
				})
			}
			burn(args[0])
			if len(args) > 1 {
				report(args[1])
			}
		},
		"parent": func(args []string) { // N MS FILE: N children that burn, waited for
			n, _ := strconv.Atoi(args[0])
			var cmds []*exec.Cmd
			for range n {
				cmds = append(cmds, run("burn", args[1], args[2]))
			}
			for _, c := range cmds {
				c.Wait()
			}
			report(args[2])
		},
		"careless": func(args []string) { // like parent, but children are reaped by the kernel
			signal.Ignore(syscall.SIGCHLD)
			n, _ := strconv.Atoi(args[0])
			for range n {
				run("burn", args[1], args[2])
			}
			stay()
		},
		"daemon": func(args []string) { // ROLE ARGS: leave it running in a session of its own, orphaned
			run("daemon2", args...)
		},
		"daemon2": func(args []string) {
			run(args[0], args[1:]...)
		},
		"bare-daemon": func(args []string) { // the same, without an environment
			c := exec.Command("/proc/self/exe", args...)
			c.Env = []string{}
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			c.Start()
		},
		"stubborn": func([]string) {
			signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
			fmt.Println("ready")
			stay()
		},
		"sleep": func([]string) {
			fmt.Println("ready")
			stay()
		},
		"surroundings": func([]string) {
			var set unix.CPUSet
			unix.SchedGetaffinity(0, &set)
			nice, _ := unix.Getpriority(unix.PRIO_PROCESS, 0)
			sid, _ := unix.Getsid(0)
			dir, _ := os.Getwd()
			fmt.Printf("cpus=%d cpu0=%v nice=%d leader=%v dir=%s mark=%s\n",
				set.Count(), set.IsSet(0), 20-nice, sid == os.Getpid(), dir, os.Getenv(Variable))
			if n, err := os.Stdin.Read(make([]byte, 1)); n == 0 && err != nil {
				fmt.Println("stdin is empty")
			}
		},
		"bomb": func([]string) { // more and more of itself
			for {
				c := exec.Command("/proc/self/exe", "bomb")
				c.Start()
				time.Sleep(time.Millisecond) // so that the machine can still be used
			}
		},
		"launcher": func(args []string) { // MARK: start a program and wait to be killed
			t := TreeOf(args[0])
			p, err := t.Start(Spec{Argv: []string{"/proc/self/exe", "sleep"}, Dir: "/"})
			fmt.Println(p.Pid, err)
			stay()
		},
		"nobody": func(args []string) { // MARK: as an ordinary user, start a forker under a limit
			if os.Getuid() == 0 {
				syscall.Setgroups(nil)
				syscall.Setgid(65534)
				syscall.Setuid(65534)
			}
			t := TreeOf(args[0])
			s := Spec{Argv: []string{"/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 100 & done; wait"}, Dir: "/",
				Stdout: os.Stdout, Stderr: os.Stderr}
			s.Limits.Processes = 5
			p, err := t.Start(s)
			if err != nil {
				fmt.Println(err)
				return
			}
			<-p.Done()
			fmt.Println("exit", p.ExitStatus().Code)
			t.KillAll(background, 0)
		},
		"name": func(args []string) { // NAME: take it, then sleep
			unix.Prctl(unix.PR_SET_NAME, uintptrOf(args[0]), 0, 0, 0)
			fmt.Println("ready")
			stay()
		},
	}
}

// stay keeps a program there until it is killed.
func stay() { time.Sleep(time.Hour) }

// run starts another role.
func run(role string, args ...string) *exec.Cmd {
	c := exec.Command("/proc/self/exe", append([]string{role}, args...)...)
	if role == "daemon2" {
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return c
}

// burn uses so many milliseconds of processor time.
func burn(ms string) {
	n, _ := strconv.Atoi(ms)
	for used() < time.Duration(n)*time.Millisecond {
		for range 100000 {
			sink++
		}
	}
}

var sink int

func used() time.Duration {
	var ru unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &ru)
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// report adds what this process has used itself to a file.
func report(file string) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err == nil {
		fmt.Fprintf(f, "%d\n", used())
		f.Close()
	}
}

// reported is the sum of what the processes that ended by themselves had used.
func reported(t *testing.T, file string) (sum time.Duration, n int) {
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		ns, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(ns)
		n++
	}
	return sum, n
}

// newTree is a tree whose processes are all gone after the test.
func newTree(t testing.TB) *Tree {
	t.Helper()
	name := strings.NewReplacer("/", "-", " ", "-", "=", "-").Replace(t.Name())
	tree := TreeOf(fmt.Sprintf("test-%d-%s", os.Getpid(), name))
	t.Cleanup(func() {
		if err := tree.KillAll(background, 0); err != nil {
			t.Error(err)
		}
		if pids, err := MarkedProcesses(tree.mark); err != nil || len(pids) > 0 {
			t.Errorf("left behind: %v, %v", pids, err)
		}
		tree.Close()
	})
	return tree
}

// output is the read end of a pipe for a program's stdout.
func output(t testing.TB, s *Spec) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	s.Stdout, s.Stderr = w, w
	return r
}

func role(args ...string) Spec {
	return Spec{Argv: append([]string{"/proc/self/exe"}, args...), Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}}
}

func shell(script string) Spec {
	s := role()
	s.Argv = []string{"sh", "-c", script}
	return s
}

func mustStart(t testing.TB, tree *Tree, s Spec) *Process {
	t.Helper()
	p, err := tree.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// startReady starts a program and waits for the line that it is ready.
func startReady(t testing.TB, tree *Tree, s Spec) *Process {
	t.Helper()
	out := output(t, &s)
	p := mustStart(t, tree, s)
	var word string
	if _, err := fmt.Fscan(out, &word); err != nil || word != "ready" {
		t.Fatalf("the program says %q, %v", word, err)
	}
	return p
}

func ended(t testing.TB, p *Process) Exit {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		t.Fatal("the program does not end")
	}
	return p.ExitStatus()
}

func writeFile(t testing.TB, dir, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}
