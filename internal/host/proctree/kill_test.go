package proctree

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/host/cgroup"
	"golang.org/x/sys/unix"
)

func mustKill(t *testing.T, tree *Tree, grace time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(background, time.Minute)
	defer cancel()
	if err := tree.KillAll(ctx, grace); err != nil {
		t.Fatal(err)
	}
	if pids := tree.LivePids(); len(pids) > 0 {
		t.Errorf("left: %v", pids)
	}
	if pids, err := MarkedProcesses(tree.mark); err != nil || len(pids) > 0 {
		t.Errorf("left with the mark: %v, %v", pids, err)
	}
}

func TestAProgramMayEndItselfBeforeItIsKilled(t *testing.T) {
	tree := newTree(t)
	s := shell("trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.01; done 2>/dev/null")
	out := output(t, &s)
	p := mustStart(t, tree, s)
	lines := bufio.NewScanner(out)
	lines.Scan()
	mustKill(t, tree, time.Minute)
	if lines.Scan(); lines.Text() != "bye" || ended(t, p).Code != 5 {
		t.Errorf("%q, %+v", lines.Text(), p.ExitStatus())
	}
}

func TestWhoIgnoresTheTermSignalIsKilled(t *testing.T) {
	tree := newTree(t)
	p := startReady(t, tree, role("stubborn"))
	mustKill(t, tree, 50*time.Millisecond)
	if e := ended(t, p); e.Code != 137 || e.Signal != 9 {
		t.Errorf("ended with %+v", e)
	}
}

func TestWhoIsStoppedIsKilled(t *testing.T) {
	tree := newTree(t)
	p := startReady(t, tree, role("stubborn"))
	unix.Kill(p.Pid, unix.SIGSTOP)
	mustKill(t, tree, 0)
	ended(t, p)
}

func TestDaemonsBelongToTheTreeAndAreKilled(t *testing.T) {
	for _, kind := range []string{"daemon", "bare-daemon"} {
		t.Run(kind, func(t *testing.T) {
			tree := newTree(t)
			p := mustStart(t, tree, role(kind, "stubborn"))
			if e := ended(t, p); e.Code != 0 {
				t.Fatalf("ended with %+v", e)
			}
			clocktest.WaitFor(t, "the daemon to be alone", func() bool { return len(tree.LivePids()) == 1 })
			soon, cancel := context.WithTimeout(background, 20*time.Millisecond)
			defer cancel()
			if err := tree.WaitEmpty(soon); err == nil {
				t.Error("the tree counts as empty")
			}
			mustKill(t, tree, 20*time.Millisecond)
		})
	}
}

// A process that forks and ends, again and again: whoever looks sees another.
// The last of them ends by itself should we fail.
func TestWhoKeepsForkingAwayIsKilled(t *testing.T) {
	for name, script := range map[string]string{
		"in one group":         `flee() { [ $1 = 0 ] || flee $(($1 - 1)) & }; flee 20000`,
		"in many":              `if [ $1 != 0 ]; then setsid -f sh "$0" $(($1 - 1)); fi`,
		"with many companions": `for i in 1 2 3 4 5 6 7 8 9 10; do (flee() { sleep 0.005; [ $1 = 0 ] || flee $(($1 - 1)) & }; flee 3000) & done`,
	} {
		t.Run(name, func(t *testing.T) {
			tree := newTree(t)
			s := role()
			s.Dir = t.TempDir()
			s.Argv = []string{"sh", writeFile(t, s.Dir, "flee", script+"\n", 0o644), "5000"}
			// They go through all process ids so fast that whoever kills one that has just
			// ended may hit one of them, and that ends it.
			for try := 1; ; try++ {
				ended(t, mustStart(t, tree, s))
				time.Sleep(50 * time.Millisecond) // in which they flee
				if !tree.isEmpty() {
					break
				}
				if try == 5 {
					t.Fatal("it has ended by itself")
				}
			}
			began := clock.RealClock()()
			mustKill(t, tree, 0)
			t.Logf("killed after %v", clock.RealClock().Since(began))
			if tree.ReadUsage().CPU < time.Millisecond {
				t.Error("its time was not counted")
			}
		})
	}
}

func TestAForkBombUnderALimitIsKilled(t *testing.T) {
	g, err := cgroup.CreateGroup(fmt.Sprintf("bomb-%d", os.Getpid()), cgroup.Limits{Pids: 150})
	if err != nil {
		if os.Getuid() != 0 {
			return // an ordinary user has the limit of TestAnOrdinaryUserHasALimitOfProcesses
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.RemoveGroup(); err != nil {
			t.Error(err)
		}
	})
	for _, known := range []bool{false, true} { // without and with the help of the cgroup
		tree := newTree(t)
		if known {
			tree.UseCgroup(g)
		}
		s := role("bomb")
		s.Cgroup = g
		mustStart(t, tree, s)
		clocktest.WaitFor(t, "the bomb to grow",
			func() bool { pids, err := g.ListPids(); return err == nil && len(pids) > 10 })
		mustKill(t, tree, 10*time.Millisecond)
		if pids, err := g.ListPids(); err != nil || len(pids) > 0 {
			t.Errorf("in the cgroup: %v, %v", pids, err)
		}
	}
}

func TestLeftoversAreFoundByTheirMarkAlone(t *testing.T) {
	mark := fmt.Sprintf("test-%d-leftover", os.Getpid())
	// In our session and without a tree, as if somebody else had started it.
	cmd := exec.Command("/bin/sh", "-c", "env -i sleep 1000 & echo $!; sleep 1000 & echo $!; wait")
	cmd.Env = []string{Variable + "=" + mark, "PATH=/usr/bin:/bin"}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kids := make([]int, 2)
	if _, err := fmt.Fscan(out, &kids[0], &kids[1]); err != nil {
		t.Fatal(err)
	}
	other := exec.Command("sleep", "1000") // whose mark only begins alike
	other.Env = []string{Variable + "=" + mark + "-not"}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if pids, err := MarkedProcesses(mark); err != nil || !slices.Contains(pids, cmd.Process.Pid) ||
		slices.Contains(pids, other.Process.Pid) {
		t.Errorf("found %v, %v", pids, err)
	}
	n, err := KillLeftovers(background, mark)
	if err != nil || n != 3 {
		t.Errorf("ended %d, %v", n, err)
	}
	cmd.Wait()
	for _, pid := range kids { // orphans in our own session might be anybody's
		unix.Wait4(pid, nil, 0, nil)
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Error("ended one that is not of the attempt")
	}
	other.Process.Kill()
	other.Wait()
	if n, err := KillLeftovers(background, mark); err != nil || n != 0 {
		t.Errorf("ended %d more, %v", n, err)
	}
}

func TestStoppedProgramsStandStillAndContinue(t *testing.T) {
	tree := newTree(t)
	s := shell("sleep 1000 & kill -STOP $!; (while :; do echo x; done) & while :; do echo y; done")
	out := output(t, &s)
	var mu sync.Mutex
	read := 0
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := out.Read(buf)
			mu.Lock()
			read += n
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	count := func() int { mu.Lock(); defer mu.Unlock(); return read }
	mustStart(t, tree, s)
	clocktest.WaitFor(t, "output", func() bool { return count() > 1000 })
	var r reader
	stopped := func() (n int) {
		for _, pid := range tree.LivePids() {
			if st, err := r.readStat(pid); err == nil && st.state == 'T' {
				n++
			}
		}
		return n
	}
	clocktest.WaitFor(t, "all to run, but one", func() bool { return len(tree.LivePids()) == 3 && stopped() == 1 })
	for range 20 {
		if err := tree.StopAll(background); err != nil {
			t.Fatal(err)
		}
		for _, pid := range tree.LivePids() {
			if st, err := r.readStat(pid); err != nil || st.state != 'T' {
				t.Errorf("process %d is in state %c, %v", pid, st.state, err)
			}
		}
		// Who is stopped may still have a last moment to account for.
		clocktest.WaitFor(t, "stopped programs to use no processor", func() bool {
			before := tree.ReadUsage().CPU
			time.Sleep(20 * time.Millisecond) // in which one that runs would use some
			return tree.ReadUsage().CPU == before
		})
		drained := count()
		tree.ContinueAll()
		clocktest.WaitFor(t, "more output", func() bool { return count() > drained+100 })
	}
	// Who stood still before us stands still after us.
	if n := stopped(); n != 1 {
		t.Errorf("%d processes are stopped, want the one that was", n)
	}
	mustKill(t, tree, 0)
}

// A shell without a trap would be ended by the signal that its child waits for.
func TestASignalGoesToWhoHandlesItAndNobodyElse(t *testing.T) {
	tree := newTree(t)
	s := shell("sh -c 'trap \"echo inner\" USR1; (trap \"echo never\" USR1; echo one; sleep 1000) & echo two; while :; " +
		"do sleep 0.01; done' & sleep 1000 & wait; wait")
	out := output(t, &s)
	mustStart(t, tree, s)
	lines := bufio.NewScanner(out)
	lines.Scan()
	lines.Scan() // all traps are set
	if n, err := tree.SignalHandlers(unix.SIGUSR1); n != 1 || err != nil {
		t.Errorf("sent to %d, %v", n, err)
	}
	if lines.Scan(); lines.Text() != "inner" {
		t.Errorf("%q", lines.Text())
	}
	if n, err := tree.SignalHandlers(unix.SIGUSR2); n != 0 || err != nil {
		t.Errorf("sent to %d who do not handle it, %v", n, err)
	}
	if len(tree.LivePids()) < 4 {
		t.Errorf("only %v are left", tree.LivePids())
	}
}

// Orphans are reaped while others here start commands and wait for them, in
// our session and in sessions of their own.
func TestReapingDisturbsNoOtherWaiter(t *testing.T) {
	tree := newTree(t)
	mustStart(t, tree, shell("i=0; while [ $i -lt 300 ]; do (sleep 0.01 &); i=$((i+1)); done"))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 50 {
				want := (i*50 + j) % 200
				cmd := exec.Command("sh", "-c", "exit "+strconv.Itoa(want))
				var err error
				switch i {
				case 0, 1: // in our session
					err = cmd.Start()
				case 2: // in another, unknown to us
					cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
					err = cmd.Start()
				default:
					err = tree.StartCommand(cmd)
				}
				if err != nil {
					t.Error(err)
					return
				}
				if err := cmd.Wait(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want {
					t.Errorf("ended with %v, %v, want %d", cmd.ProcessState, err, want)
				}
			}
		})
	}
	wg.Wait()
	if err := tree.WaitEmpty(background); err != nil {
		t.Fatal(err)
	}
	var r reader
	clocktest.WaitFor(t, "the last to be reaped", func() bool { return len(r.ourChildren()) == 0 })
}

// A command in our own session is adopted and left to who started it.
func TestAnAdoptedCommandBelongsToTheTree(t *testing.T) {
	tree := newTree(t)
	if err := BecomeSubreaper(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "burn", "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := tree.AdoptChild(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	clocktest.WaitFor(t, "its time to be counted", func() bool { return tree.ReadUsage().CPU > 50*time.Millisecond })
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if err := tree.WaitEmpty(background); err != nil {
		t.Error(err)
	}
	if err := tree.AdoptChild(os.Getppid()); err == nil {
		t.Error("our parent was adopted")
	}
}

// The kernel may be built without lists of children.
func TestTheWholeOfProcGivesTheSameTree(t *testing.T) {
	tree := newTree(t)
	mustStart(t, tree, shell("sleep 1000 & (sleep 1000 & sleep 1000; :) & wait"))
	clocktest.WaitFor(t, "all to run", func() bool { return len(tree.LivePids()) == 5 })
	of := map[int]int{}
	for _, s := range tree.read.allProcesses() {
		of[s.pid] = s.ppid
	}
	for _, m := range tree.members {
		if m.parent != nil && of[m.pid] != m.parent.pid || m.parent == nil && of[m.pid] != os.Getpid() {
			t.Errorf("process %d has the parent %d, the tree says %+v", m.pid, of[m.pid], m.parent)
		}
	}
}

// A shell waits inside vfork until its child runs another program: a child that is
// stopped before that must not keep its parent from standing still.
func TestProgramsThatStartOthersAllTheTimeStandStill(t *testing.T) {
	tree := newTree(t)
	mustStart(t, tree, shell("while :; do /bin/true; done"))
	for range 100 {
		ctx, cancel := context.WithTimeout(background, time.Minute)
		err := tree.StopAll(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		tree.ContinueAll()
	}
}
