package agent

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// newWatched is a job that needs 100 CPU seconds within 200, of which its host
// gives it the share that the test sets, in per cent.
func newWatched(t *testing.T) (*harness, *atomic.Int64) {
	t.Helper()
	h, share := newMeasured(t)
	h.attempt.Deadline = h.attempt.Now.Add(200 * time.Second)
	h.start()
	return h, share
}

// newMeasured is a job that needs 100 CPU seconds, of which its host gives it the share that the test sets, in per
// cent; it is not started.
func newMeasured(t *testing.T) (*harness, *atomic.Int64) {
	t.Helper()
	h := newHarness(t, "/bin/sh", "-c", "echo up; sleep 1000")
	share := new(atomic.Int64)
	share.Store(100)
	last, cpu := h.around.clock(), time.Duration(0)
	h.around.usage = func(string) proctree.Usage {
		now := h.around.clock()
		cpu += now.Sub(last) * time.Duration(share.Load()) / 100
		last = now
		return proctree.Usage{CPU: cpu, Processes: 1, Memory: 1 << 20}
	}
	h.countSamples()
	h.attempt.Need = predict.LogNormal(100, 0.02).Quantiles()
	return h, share
}

// newPromised is a job that needs 20 CPU seconds, of which so many seconds are promised.
func newPromised(t *testing.T, seconds float64) (*harness, *atomic.Int64) {
	t.Helper()
	h, share := newMeasured(t)
	h.attempt.Need = predict.LogNormal(20, 0.02).Quantiles()
	h.attempt.Promise, h.attempt.Spec.Contract = seconds, &ruleOfTwo
	h.start()
	return h, share
}

func (h *harness) end() {
	h.order(wire.Order{Kind: wire.Kill})
	h.wait()
}

func TestADeadlineInDangerIsToldAndARefusalIsAccepted(t *testing.T) {
	h, share := newWatched(t)
	h.begin()
	h.await(wire.Running)
	h.awaitSamples(10)
	if n := len(h.all(wire.Ask)); n > 0 {
		t.Error("asked without need")
	}
	share.Store(30)
	m := h.await(wire.Ask)
	if s := m.State; s.Chance >= 0.95 || s.Chance < 0 || len(s.Left) != predict.NLevels ||
		len(s.Work) != predict.NLevels ||
		s.Share > 0.5 || s.Mean < s.Share || s.Model == "" || s.Left[6] < 150 || s.Work[6] > 100 ||
		!strings.Contains(m.Why, "%") {
		t.Errorf("asked with %q, %+v", m.Why, s)
	}
	h.order(wire.Order{Kind: wire.Answer, Why: "nowhere is better"})
	n, refused := len(h.all(wire.Ask)), time.Now()
	h.awaitSamples(10)
	if again, took := len(h.all(wire.Ask)), time.Since(refused); again > n+2*(1+int(took/time.Second)) {
		t.Errorf("asked %d times within %v of a refusal", again-n, took)
	}
	if m := h.await(wire.Note); m.Entry == nil || m.Entry.Kind == "" || m.Entry.Why == "" {
		t.Errorf("noted %+v", m)
	}
	h.until("a change that is told", func() bool {
		for _, m := range h.messages {
			if m.Kind == wire.Note && m.Entry.Kind == "predict" && strings.Contains(m.Entry.Choice, "CPU share dropped from") {
				return true
			}
		}
		return false
	})
	h.end()
}

func TestAJobThatIsNotToBeMovedIsOnlyWarnedAbout(t *testing.T) {
	h, share := newWatched(t)
	h.attempt.Spec.Adapt = jobfile.AdaptOff
	share.Store(20)
	h.begin()
	h.until("a warning", func() bool {
		for _, m := range h.messages {
			if m.Kind == wire.Note && strings.Contains(m.Entry.Choice, "in danger") {
				return true
			}
		}
		return false
	})
	if n := len(h.all(wire.Ask)); n > 0 {
		t.Error("asked all the same")
	}
	h.end()
}

func TestAStatusSaysHowTheJobDoes(t *testing.T) {
	h, share := newWatched(t)
	share.Store(80)
	h.begin()
	h.await(wire.Running)
	h.order(wire.Order{Kind: wire.Watch, Every: 20 * time.Millisecond})
	// A single sample may be off: a busy machine reads the clock and the usage apart.
	h.until("a status with its share", func() bool {
		return h.vitals != nil && len(h.vitals.Left) > 0 && h.vitals.Share > 0.6 && h.vitals.Share <= 1
	})
	h.mu.Lock()
	v := *h.vitals
	h.mu.Unlock()
	if v.CPU <= 0 || v.Wall <= 0 || v.Done < 0 || v.Memory != 1<<20 || v.Method != checkpointing.MethodRestart {
		t.Errorf("status %+v", v)
	}
	h.end()
}

// A clock that is set does not matter: time is measured by the one that cannot
// be, and what the broker's says counts from what it said at first.
func TestAClockThatIsSetDoesNotMatter(t *testing.T) {
	l := newLife(testAround(nil), folder{t.TempDir()}, &wire.Attempt{Now: core.AtSecond(5000)}, 0)
	if !strings.Contains(l.born.String(), " m=") {
		t.Fatalf("%v has no monotonic reading", l.born)
	}
	if by, born := l.timeUntil(core.AtSecond(5030)), l.sinceBirth(); by < 29*time.Second-born || by > 31*time.Second {
		t.Errorf("30 s from its birth, %v ago, are %v from now", born, by)
	}
	for _, by := range []core.Time{core.AtSecond(1400), core.AtSecond(9e6), 0, -5} {
		if d := l.timeUntil(by); d < time.Second || d > time.Hour {
			t.Errorf("until %v are %v", by, d)
		}
	}
	// Each clock is read between two readings of the one it is compared with.
	before := monotonic(t)
	from, at := l.sinceBirth(), l.brokerTime()
	between := monotonic(t)
	time.Sleep(50 * time.Millisecond) // some time has to pass by clocks that nobody can set
	least := monotonic(t) - between
	passed, byBroker := l.sinceBirth()-from, l.brokerTime().Sub(at)
	most := monotonic(t) - before
	if passed < least || passed > most || byBroker < least || byBroker > most {
		t.Errorf("%v passed, %v by the broker's clock; by the monotonic one %v to %v", passed, byBroker, least, most)
	}
}

func monotonic(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}

func TestTheEnvironmentIsOursAndTheJobs(t *testing.T) {
	a := &wire.Attempt{Job: 9, Mark: "m", Procs: 4, Index: 3, Spec: jobfile.Job{
		Env:   map[string]string{"HOME": "/elsewhere", "GODWIT_ATTEMPT": "forged", "X": ""},
		Array: jobfile.ArrayRange{First: 1, Last: 5, Step: 1}}}
	got := strings.Join(programEnvironment(a, "/w", []string{"HOME=/root", "GODWIT_OLD=1", "PATH=/bin", "PWD=/"}, nil),
		" ")
	if want := "PATH=/bin GODWIT_ATTEMPT=m GODWIT_INDEX=3 GODWIT_JOB=9 GODWIT_PROCS=4 HOME=/elsewhere PWD=/w X="; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What the pulse says goes into the prediction and home with the result.
func TestASlowCoreIsFelt(t *testing.T) {
	h, _ := newWatched(t)
	h.attempt.Pace = wire.Pace{Usual: 1, Power: 1}
	h.around.pulse = func(mark string) (float64, bool) { return 2, mark == h.attempt.Mark }
	h.begin()
	h.await(wire.Running)
	m := h.await(wire.Ask) // twice as slow as usual it needs 200 s and has less
	if s := m.State; math.Abs(s.Slowness-2) > 0.01 || s.Share < 0.9 || s.Left[6] < 150 {
		t.Errorf("asked with %+v", s)
	}
	h.end()
}

// Nobody watches the job and it has no deadline: it is predicted all the same, so that it
// is known how predictions hold.
func TestPredictionsAreJudgedWhenTheProgramHasEnded(t *testing.T) {
	var state *wire.Vitals
	for range 3 { // none is judged if the machine stands still for most of the run
		if state = endUnwatched(t); state != nil && len(state.Deviations) > 0 {
			return
		}
	}
	t.Errorf("it ended with %+v", state)
}

// endUnwatched is what is told of a job that ended after some samples.
func endUnwatched(t *testing.T) *wire.Vitals {
	t.Helper()
	over := filepath.Join(t.TempDir(), "over")
	h := newHarness(t, "/bin/sh", "-c", "until [ -e "+over+" ]; do sleep 0.05; done")
	usage, samples, enough := h.around.usage, new(atomic.Int64), make(chan struct{})
	h.around.usage = func(mark string) proctree.Usage {
		if samples.Add(1) == 12 {
			close(enough)
		}
		return usage(mark)
	}
	h.attempt.Need = predict.LogNormal(100, 0.02).Quantiles()
	h.start()
	h.begin()
	h.await(wire.Running)
	select {
	case <-enough:
	case <-time.After(patience):
		t.Error("the program is not looked at")
	}
	if err := os.WriteFile(over, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.wait()
	return h.ended().State
}
