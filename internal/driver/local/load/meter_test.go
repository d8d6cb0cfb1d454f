package load

import (
	"fmt"
	"math"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/host/proctable"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// aCPU is one that this process may use: the last, where fewer others are.
func aCPU(t testing.TB) int {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	for cpu := len(set)*64 - 1; cpu >= 0; cpu-- {
		if set.IsSet(cpu) {
			return cpu
		}
	}
	t.Fatal("no CPU")
	return 0
}

func nothing() time.Duration { return 0 }

func newMeter(t testing.TB, cpu int, own func() []OwnAttempt) *Meter {
	t.Helper()
	if own == nil {
		own = func() []OwnAttempt { return nil }
	}
	m := NewMeter(Config{CPUs: []int{cpu}, Quota: 1, Every: 300 * time.Millisecond, Own: own, Spent: nothing,
		Clock: clock.RealClock()})
	t.Cleanup(m.Close)
	return m
}

func estimateOf(t testing.TB, m *Meter) driver.Load {
	t.Helper()
	e, err := m.EstimateShare()
	if err != nil {
		t.Fatal(err)
	}
	if e.Share <= 0 || e.Share > 1 || e.Sd <= 0 || e.Why == "" {
		t.Errorf("%+v", e)
	}
	return e
}

// burn starts a process that wants all of a CPU, in a session of its own; it is
// gone when the test ends.
func burn(t testing.TB, cpu int) int {
	t.Helper()
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(cmd.Process.Pid, &set); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func ticksOf(t testing.TB, pid int) ticks {
	t.Helper()
	threads, err := proctable.ThreadsOf(pid)
	if err != nil || len(threads) != 1 {
		t.Fatal(threads, err)
	}
	return threads[0].Ticks()
}

func TestTheFirstAnswerIsQuickAndLaterOnesAreSurer(t *testing.T) {
	m := newMeter(t, aCPU(t), nil)
	first := estimateOf(t, m)
	if first.Sd < 0.1 {
		t.Errorf("the first answer claims to be sure: %+v", first)
	}
	clocktest.WaitFor(t, "as many samples as are kept", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.recent) == maxRecentSamples && !m.recent[0].blind
	})
}

func TestANewcomerSharesWithThoseWhoAreThere(t *testing.T) {
	cpu := aCPU(t)
	m := newMeter(t, cpu, nil)
	for range 2 {
		burn(t, cpu)
	}
	var e driver.Load
	slowly.WaitFor(t, "the competitors to be seen", func() bool {
		e = estimateOf(t, m)
		return e.Share < 0.5 // a third, or less if there are yet others
	}, func() string { return fmt.Sprintf("%+v", e) })
}

// slowly asks no more often than something can have changed; others come and go on the machine
// meanwhile.
var slowly = clocktest.PollLoop{Pause: 50 * time.Millisecond}

// How far what is foretold is from what a newcomer then really gets, with
// whatever else happens on this machine at the time.
func BenchmarkForetelling(b *testing.B) {
	cpu := aCPU(b)
	m := newMeter(b, cpu, nil)
	estimateOf(b, m)
	for range 2 {
		burn(b, cpu)
	}
	off := 0.0
	for b.Loop() {
		time.Sleep(900 * time.Millisecond) // of this long the foretelling knows
		foretold := estimateOf(b, m)
		pid := burn(b, cpu)
		begin, used := time.Now(), ticksOf(b, pid)
		time.Sleep(800 * time.Millisecond) // this long the newcomer is measured
		used = ticksOf(b, pid) - used
		off += math.Abs(foretold.Share - float64(used)/ticksPerSecond/time.Since(begin).Seconds())
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(off/float64(b.N), "share-off")
}

func TestOurOwnAreNoCompetitors(t *testing.T) {
	cpu := aCPU(t)
	var pids []int
	for range 3 {
		pids = append(pids, burn(t, cpu))
	}
	ours := newMeter(t, cpu, func() []OwnAttempt {
		var own []OwnAttempt
		for _, pid := range pids {
			own = append(own, OwnAttempt{Agent: pid, CPUs: []int{cpu}})
		}
		return own
	})
	theirs := newMeter(t, cpu, nil)
	var a, b driver.Load
	slowly.WaitFor(t, "our own to count for less than others", func() bool {
		a, b = estimateOf(t, ours), estimateOf(t, theirs)
		return a.Share > 1.15*b.Share && b.Share < 0.35
	}, func() string { return fmt.Sprintf("%+v and %+v", a, b) })
}

func TestAQuotaIsTheMostThatAnybodyGets(t *testing.T) {
	m := NewMeter(Config{CPUs: []int{aCPU(t)}, Quota: 0.25, Every: time.Second, Own: func() []OwnAttempt { return nil },
		Spent: nothing, Clock: clock.RealClock()})
	defer m.Close()
	if e := estimateOf(t, m); e.Share > 0.25 {
		t.Errorf("%+v", e)
	}
}

func TestLookingAtAllProcessesCostsAThousandthAtMost(t *testing.T) {
	now := time.Unix(1000, 0)
	m := &Meter{census: census{whole: now, at: now, cost: 5 * time.Millisecond}}
	if m.mayScanAll(now.Add(4*time.Second), 0) {
		t.Error("5 ms every 4 s are too much")
	}
	if !m.mayScanAll(now.Add(5*time.Second), 0) {
		t.Error("5 ms every 5 s are allowed")
	}
	if !m.mayScanAll(now.Add(time.Second), 0.5) {
		t.Error("somebody unknown is worth a hundredth")
	}
	m = &Meter{}
	if !m.mayScanAll(now, 0) {
		t.Error("the first time is always allowed")
	}
}

func TestShortProcessesCountThoughTheyAreNeverSeen(t *testing.T) {
	tasks := unattributedTasks(1.9, []int{0, 1})
	if len(tasks) != 2 || tasks[0].want != 1 {
		t.Errorf("%+v", tasks)
	}
	if tasks := unattributedTasks(0.5, []int{0, 1}); len(tasks) != 2 || tasks[1].want != 0.25 || tasks[1].at != 1 {
		t.Errorf("%+v", tasks)
	}
	if tasks := unattributedTasks(0.01, []int{0, 1}); tasks != nil {
		t.Errorf("%+v", tasks)
	}
}

func TestWhatOursUsedIsKnownAlsoOfThoseThatEnded(t *testing.T) {
	m := &Meter{cfg: Config{CPUs: []int{0}}}
	busy := cpuTimes{map[int]ticks{0: 1, 1: 1}}
	before := &view{times: busy, own: map[any]time.Duration{1: time.Second, 2: 3 * time.Second}, spent: 10 * time.Second}
	for _, c := range []struct {
		after view
		want  float64
		known bool
	}{
		{view{own: map[any]time.Duration{1: 2 * time.Second, 2: 3 * time.Second}, spent: 10 * time.Second}, 0.5, true},
		// 2 ended after 3.5 s in all; 3 came.
		{view{own: map[any]time.Duration{1: time.Second, 3: time.Second}, spent: 13500 * time.Millisecond}, 0.75, true},
		// One that cannot tell.
		{view{own: map[any]time.Duration{1: -1, 2: 4 * time.Second}, spent: 10 * time.Second}, 0.5, false},
		// Half of this process's time is on this half of the machine.
		{view{own: map[any]time.Duration{1: time.Second, 2: 3 * time.Second}, spent: 10 * time.Second, self: 2 * time.Second},
			0.5, true},
	} {
		c.after.times = busy
		if got, known := m.ownBetween(before, &c.after, 2); got != c.want || known != c.known {
			t.Errorf("%+v: %v, %v; want %v, %v", c.after, got, known, c.want, c.known)
		}
	}
	if _, known := m.ownBetween(before, before, 0); known {
		t.Error("something is known of no time")
	}
}

func TestANewcomerGoesWhereNoneOfOursIs(t *testing.T) {
	m := &Meter{cfg: Config{CPUs: []int{0, 1, 2}}}
	own := []OwnAttempt{{CPUs: []int{1}}, {CPUs: []int{0, 1, 2}}} // the second floats
	if got := m.freeCPUs(own); len(got) != 2 || got[0] != 0 || got[1] != 2 {
		t.Errorf("%v", got)
	}
	own = append(own, OwnAttempt{CPUs: []int{0, 2}})
	if got := m.freeCPUs(own); len(got) != 3 {
		t.Errorf("%v", got)
	}
}

func TestWhoIsThereIsNamed(t *testing.T) {
	for want, c := range map[string]struct {
		use   float64
		cpus  int
		names []string
	}{
		"others use 100 % of the CPU (stress)":          {1, 1, []string{"stress", "stress"}},
		"others use 100 % of the CPU (cc, ld)":          {1, 1, []string{"cc", "ld", "cc"}},
		"others begin to compute (stress)":              {0, 1, []string{"stress"}},
		"others use 1.5 of 2 CPUs":                      {1.5, 2, nil},
		"others use 2.0 of 4 CPUs (a, b, c and 2 more)": {2, 4, []string{"a", "b", "c", "d", "e"}},
	} {
		if got := explainOthers(c.use, c.cpus, c.names); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What one look costs when nobody else uses the CPUs, and when all processes
// have to be looked at.
func BenchmarkSample(b *testing.B) {
	cpu := aCPU(b)
	b.Run("sums", func(b *testing.B) {
		m := newMeter(b, cpu, nil)
		for b.Loop() {
			if _, err := m.readSums(nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("all", func(b *testing.B) {
		var c census
		for b.Loop() {
			if err := c.updateCensus(time.Now(), nil, true, func(int, []node) bool { return false }); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(c.known)), "processes")
	})
	b.Run("busy", func(b *testing.B) {
		var c census
		for b.Loop() {
			if err := c.updateCensus(time.Now(), nil, false, func(int, []node) bool { return false }); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(c.known)), "processes")
	})
}
