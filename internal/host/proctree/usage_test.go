package proctree

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
)

// unreported is what a process may use before main and after its report: much
// on a slow machine, and under the race detector.
const unreported = 100 * time.Millisecond

// near reports whether got is want, but for what goes unreported, and for ticks.
func near(got, want time.Duration, processes int) bool {
	return got >= want-2*tick*time.Duration(processes) && got <= want+unreported*time.Duration(processes)
}

func TestProcessorTimeOfChildrenAndOfTheDeadIsCounted(t *testing.T) {
	tree := newTree(t)
	file := filepath.Join(t.TempDir(), "used")
	p := mustStart(t, tree, role("parent", "4", "150", file))
	var last Usage
	most := 0
	for alive := true; alive; {
		select {
		case <-p.Done():
			alive = false
		case <-time.After(3 * time.Millisecond):
		}
		u := tree.ReadUsage()
		if u.CPU < last.CPU || u.Read < last.Read || u.Written < last.Written {
			t.Fatalf("%+v after %+v", u, last)
		}
		// Never more than there is: what is counted twice would stay.
		if ceiling, n := reported(t, file); n == 5 && u.CPU > ceiling+5*unreported {
			t.Fatalf("counted %v, the processes used %v", u.CPU, ceiling)
		}
		most = max(most, u.Processes)
		last = u
	}
	want, n := reported(t, file)
	if n != 5 || !near(last.CPU, want, n) {
		t.Errorf("counted %v, %d processes used %v", last.CPU, n, want)
	}
	if most < 2 || last.Processes != 0 || last.Memory != 0 || last.Threads != 0 {
		t.Errorf("at most %d processes, in the end %+v", most, last)
	}
}

// Orphans come to us, and we are told what they used.
func TestProcessorTimeOfDaemonsIsCounted(t *testing.T) {
	tree := newTree(t)
	file, let := filepath.Join(t.TempDir(), "used"), filepath.Join(t.TempDir(), "go")
	for range 3 {
		if e := ended(t, mustStart(t, tree, role("daemon", "burn", "120", file, let))); e.Code != 0 {
			t.Fatalf("ended with %+v", e)
		}
	}
	if len(tree.LivePids()) == 0 {
		t.Error("the daemons are not in the tree")
	}
	if err := os.WriteFile(let, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := tree.WaitEmpty(background); err != nil {
		t.Fatal(err)
	}
	want, n := reported(t, file)
	// The two that made each daemon have not told what they used.
	if got := tree.ReadUsage().CPU; n != 3 || !near(got, want, 3*n) {
		t.Errorf("counted %v, %d daemons used %v", got, n, want)
	}
}

// Nobody waits for them and nobody is told: what was last seen is kept.
func TestProcessorTimeOfChildrenNobodyWaitsForIsKeptAsLastSeen(t *testing.T) {
	tree := newTree(t)
	file := filepath.Join(t.TempDir(), "used")
	mustStart(t, tree, role("careless", "3", "600", file))
	var high time.Duration
	clocktest.WaitFor(t, "the children to end", func() bool {
		high = max(high, tree.ReadUsage().CPU)
		_, n := reported(t, file)
		return n == 3 && len(tree.LivePids()) == 1
	})
	got := tree.ReadUsage().CPU
	want, _ := reported(t, file)
	// How much was seen depends on when we were let look.
	if got < high || high < 100*time.Millisecond || got > want+5*unreported {
		t.Errorf("counted %v, once %v; used %v", got, high, want)
	}
	// And it is counted once: more work adds to it.
	mustStart(t, tree, role("burn", "50"))
	clocktest.WaitFor(t, "more to be counted", func() bool { return tree.ReadUsage().CPU >= got+45*time.Millisecond })
}

func TestBytesMemoryAndThreadsAreCounted(t *testing.T) {
	tree := newTree(t)
	p := mustStart(t, tree, shell("head -c 3000000 /dev/zero | cat >/dev/null; head -c 1000000 /dev/zero >/dev/null & "+
		"wait; kill -STOP $$"))
	clocktest.WaitFor(t, "the script to be through", func() bool {
		u := tree.ReadUsage()
		return u.Read >= 7_000_000 && u.Written >= 7_000_000 && u.Processes == 1
	})
	u := tree.ReadUsage()
	if u.Memory < 100_000 || u.Threads != 1 {
		t.Errorf("%+v", u)
	}
	clocktest.WaitFor(t, "context switches to be looked up", func() bool { return tree.ReadUsage().Switches > 0 })
	tree.KillAll(background, 0)
	if e := ended(t, p); e.Signal != 9 {
		t.Errorf("ended with %+v", e)
	}
	if after := tree.ReadUsage(); after.Read < u.Read || after.CPU < u.CPU {
		t.Errorf("%+v after %+v", after, u)
	}
}

func TestANameThatLooksLikeAStatLineConfusesNobody(t *testing.T) {
	tree := newTree(t)
	p := startReady(t, tree, role("name", ") Z 1 1\n1 (a b"))
	if pids := tree.LivePids(); len(pids) != 1 || pids[0] != p.Pid {
		t.Errorf("processes %v, want %d", pids, p.Pid)
	}
	if u := tree.ReadUsage(); u.Processes != 1 || u.Threads < 2 || u.CPU <= 0 {
		t.Errorf("%+v", u)
	}
	if e := tree.leftError(nil); e == nil {
		t.Error("no error")
	}
}

// With several trees in one process each counts its own, also of orphans.
func TestTreesSideBySideDoNotMix(t *testing.T) {
	dir := t.TempDir()
	let := filepath.Join(dir, "go")
	trees := map[string]*Tree{}
	for i, ms := range []string{"60", "180"} {
		tree := TreeOf(fmt.Sprintf("%s-%d", newTree(t).mark, i))
		defer tree.Close()
		defer tree.KillAll(background, 0)
		trees[ms] = tree
		ended(t, mustStart(t, tree, role("daemon", "burn", ms, filepath.Join(dir, ms), let)))
		// Whose an orphan is that nobody saw alive could not be told of the dead one.
		clocktest.WaitFor(t, "a daemon to be seen", func() bool { return len(tree.LivePids()) > 0 })
	}
	if err := os.WriteFile(let, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for ms, tree := range trees {
		if err := tree.WaitEmpty(background); err != nil {
			t.Fatal(err)
		}
		want, n := reported(t, filepath.Join(dir, ms))
		if got := tree.ReadUsage().CPU; n != 1 || !near(got, want, 3) {
			t.Errorf("counted %v, used %v", got, want)
		}
	}
}

// What a sample costs: the tree is that of a shell with 20 children.
func BenchmarkUsageOfTwentyProcesses(b *testing.B) {
	for _, c := range []struct {
		what  string
		forks bool
	}{{"nothing is forked", false}, {"somebody forks all the time", true}} {
		b.Run(c.what, func(b *testing.B) {
			tree := newTree(b)
			mustStart(b, tree, shell("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do sleep 1000 & done; wait"))
			clocktest.WaitFor(b, "all to run", func() bool { return len(tree.LivePids()) == 20 })
			var before, after time.Duration
			b.ResetTimer()
			before = used()
			for b.Loop() {
				if c.forks {
					tree.lastPid = ""
				}
				tree.ReadUsage()
			}
			after = used()
			b.ReportMetric(float64(after-before)/float64(b.N)/float64(2*time.Second)*100, "%CPU@2s")
		})
	}
}

func BenchmarkStart(b *testing.B) {
	for _, c := range []struct {
		what string
		hold bool
	}{{"plain", false}, {"with limits", true}} {
		b.Run(c.what, func(b *testing.B) {
			tree := newTree(b)
			s := role()
			s.Argv = []string{"/bin/true"}
			if c.hold {
				s.Limits.FileSize = 1 << 40
			}
			for b.Loop() {
				<-mustStart(b, tree, s).Done()
			}
		})
	}
}

func TestTheProcessorOfABusyProcessIsTold(t *testing.T) {
	var ours, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &ours); err != nil {
		t.Fatal(err)
	}
	last := 0
	for cpu := range 1024 {
		if ours.IsSet(cpu) {
			last = cpu
		}
	}
	one.Set(last)
	tree := newTree(t)
	if cpu, ok := tree.BusiestProcessor(); ok {
		t.Errorf("nobody runs on processor %d", cpu)
	}
	p := mustStart(t, tree, role("burn", "60000", filepath.Join(t.TempDir(), "used")))
	pid := tree.LivePids()[0]
	threads, err := numbersIn(procPath(pid, "task"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tid := range threads { // those to come inherit it
		if err := unix.SchedSetaffinity(tid, &one); err != nil {
			t.Fatal(err)
		}
	}
	begun := tree.ReadUsage().CPU
	clocktest.WaitFor(t, "a tenth of a second of processor time",
		func() bool { return tree.ReadUsage().CPU >= begun+100*time.Millisecond })
	clocktest.WaitFor(t, "one of its threads to run", func() bool {
		cpu, ok := tree.BusiestProcessor()
		if ok && cpu != last {
			t.Fatalf("it runs on processor %d, was told to use %d", cpu, last)
		}
		return ok
	})
	if err := tree.KillAll(t.Context(), 0); err != nil {
		t.Error(err)
	}
	<-p.Done()
}

func TestTimeWaitedForAProcessorIsRead(t *testing.T) {
	s, ok := parseSchedstat([]byte("199276 195706 2\n"))
	if !ok || s != (schedTimes{199276, 195706}) {
		t.Errorf("read %+v, %v", s, ok)
	}
	for _, bad := range []string{"", "1", "x 2 3", "-1 2 3"} {
		if s, ok := parseSchedstat([]byte(bad)); ok {
			t.Errorf("%q is read as %+v", bad, s)
		}
	}
	ready, asleep := func() bool { return true }, func() bool { return false }
	tree := &Tree{threads: map[int]thread{7: {schedTimes: schedTimes{ran: 100, delayed: 50}}}}
	count := func(tid int, text string, isReady func() bool) {
		now := map[int]thread{}
		tree.countThread(tid, []byte(text), 1000, isReady, now)
		tree.threads = now
	}
	for _, c := range []struct {
		text    string
		isReady func() bool
		want    schedTimes
		why     string
	}{
		{"130 90 3", ready, schedTimes{30, 40}, "counted"},
		{"130 90 3", asleep, schedTimes{30, 40}, "it sleeps"},
		{"130 90 3", ready, schedTimes{30, 1040}, "it waits, and nobody has counted that"},
		{"130 90 3", ready, schedTimes{30, 2040}, "and still waits"},
		{"140 2590 4", ready, schedTimes{40, 2540}, "counted at last: no part of it twice"},
		{"10 1 1", asleep, schedTimes{50, 2541}, "the number is another's now"},
	} {
		if count(7, c.text, c.isReady); tree.sched != c.want {
			t.Errorf("%s: counted %+v, want %+v", c.why, tree.sched, c.want)
		}
	}
	count(8, "20 5 1", ready)
	if tree.sched != (schedTimes{70, 2546}) {
		t.Errorf("a new thread: counted %+v", tree.sched)
	}
}

func TestABusyTreeIsSeenToRun(t *testing.T) {
	tree := newTree(t)
	file := filepath.Join(t.TempDir(), "used")
	p := mustStart(t, tree, role("parent", "1", "150", file))
	ran := time.Duration(0)
	for alive := true; alive; {
		select {
		case <-p.Done():
			alive = false
		case <-time.After(3 * time.Millisecond):
		}
		ran = max(ran, tree.ReadUsage().Ran)
	}
	if last := tree.ReadUsage(); ran < 100*time.Millisecond || ran > last.CPU+unreported {
		t.Errorf("seen to run for %v of %v", ran, last.CPU)
	}
}
