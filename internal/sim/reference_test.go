package sim

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/swf"
	"github.com/godwit-hpc/godwit/internal/recordings"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

func readTrace(tb testing.TB, file string) *swf.Trace {
	tb.Helper()
	trace, err := swf.ReadFile(file, swf.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return trace
}

// EASY on KTH-SP2 through the whole simulator and the engine, against the
// schedules that pyss published: the wait field says when a job started.
func TestTheKTHTraceRunsAsPublished(t *testing.T) {
	for file, estimates := range map[string]workload.Estimates{
		"KTH-SP2.EASY.swf.gz":             workload.UserEstimates,
		"KTH-SP2.EASY-clairvoyant.swf.gz": workload.ExactEstimates,
	} {
		trace, reference := recordings.Path(t, "swf", "KTH-SP2-1996-2.pyss-filtered.swf.gz"),
			recordings.Path(t, "swf", "pyss_easy_reference", file)
		want := map[int64]time.Duration{}
		for _, r := range readTrace(t, reference).Records {
			want[r.ID] = r.Wait
		}
		jobs := readTrace(t, trace)
		starts := easyStarts(t, jobs, 100, estimates)
		exact, within, mean, published := 0, 0, 0.0, 0.0
		for _, r := range jobs.Records {
			start, ran := starts[r.ID]
			if !ran {
				t.Fatalf("%s: job %d was left out", file, r.ID)
			}
			wait := start.Sub(r.Submit)
			if wait == want[r.ID] {
				exact++
			}
			if (wait - want[r.ID]).Abs() <= time.Second {
				within++
			}
			mean += wait.Seconds() / float64(len(jobs.Records))
			published += want[r.ID].Seconds() / float64(len(jobs.Records))
		}
		all := float64(len(jobs.Records))
		t.Logf("%s: %d jobs, %.3f %% within a second, %.3f %% exact, mean wait %.3f s, published %.3f s",
			file, len(jobs.Records), 100*float64(within)/all, 100*float64(exact)/all, mean, published)
		if float64(within) < 0.98*all || math.Abs(mean-published) > 0.005*published {
			t.Errorf("%s: too far from what is published", file)
		}
		if exact != len(jobs.Records) { // what the rules of decision 4 achieve
			t.Errorf("%s: %d jobs do not start in the very second", file, len(jobs.Records)-exact)
		}
	}
}

func TestGeneratedTracesRunAsAPlainEASYRunsThem(t *testing.T) {
	for seed := range 6 {
		for _, estimates := range []workload.Estimates{workload.UserEstimates, workload.ExactEstimates} {
			trace := syntheticTrace(1500+seed, 64, 0.8+0.1*float64(seed))
			starts := easyStarts(t, trace, 64, estimates)
			for i, want := range plainEASY(trace, 64, estimates) {
				if got := starts[trace.Records[i].ID]; got != want {
					t.Fatalf("seed %d, %s estimates: job %d starts at %g s, want %g s", seed, estimates, i+1, got.Seconds(),
						want.Seconds())
				}
			}
		}
	}
}

// easyStarts is when the jobs of a trace start, by their number in it.
func easyStarts(t testing.TB, trace *swf.Trace, procs int, estimates workload.Estimates) map[int64]core.Time {
	t.Helper()
	source := func() workload.Source {
		s, stats, err := workload.FromTrace(trace, workload.TraceOptions{MaxProcs: procs, Estimates: estimates})
		if err != nil || len(stats.Skipped) > 0 {
			t.Fatal(err, stats.Skipped)
		}
		return s
	}
	cfg := easyOn(t, procs, source())
	records := simulate(t, cfg).Records()
	starts := make(map[int64]core.Time, len(records))
	var j workload.Job
	for labels, i := source(), 0; labels.NextJob(&j); i++ {
		starts[j.Label] = records[i].Start
	}
	return starts
}

// plainJob is a job of plainEASY that waits or runs.
type plainJob struct {
	index    int
	procs    int
	estimate time.Duration
	end      core.Time // expected
	truly    core.Time
}

// plainEASY is EASY written as plainly as possible: lists, looked through from
// end to end after every event, by the rules of decision 4. It returns when
// each job starts.
func plainEASY(trace *swf.Trace, procs int, estimates workload.Estimates) []core.Time {
	starts := make([]core.Time, len(trace.Records))
	var queue, running []plainJob
	free, next := procs, 0
	start := func(now core.Time, i int) {
		j := queue[i]
		queue = slices.Delete(queue, i, i+1)
		j.end, j.truly = now.Add(j.estimate), now.Add(trace.Records[j.index].Run)
		running = append(running, j)
		free -= j.procs
		starts[j.index] = now
	}
	pass := func(now core.Time) {
		for len(queue) > 0 && queue[0].procs <= free {
			start(now, 0)
		}
		if len(queue) == 0 {
			return
		}
		shadow, extra := plainReservation(now, queue[0].procs, free, running)
		for i := 1; i < len(queue); {
			j := &queue[i]
			inTime := now.Add(j.estimate) <= shadow
			if j.procs > free || !inTime && j.procs > extra {
				i++
				continue
			}
			if !inTime {
				extra -= j.procs
			}
			start(now, i)
		}
	}
	leave := func(i int) {
		free += running[i].procs
		running = slices.Delete(running, i, i+1)
	}
	for next < len(trace.Records) || len(running) > 0 {
		now := core.Never
		if next < len(trace.Records) {
			now = trace.Records[next].Submit
		}
		for _, j := range running {
			now = min(now, j.truly)
		}
		for i := len(running) - 1; i >= 0; i-- { // who ends as expected is gone from the beginning on
			if running[i].truly == now && running[i].end == now {
				leave(i)
			}
		}
		passed := false
		for ; next < len(trace.Records) && trace.Records[next].Submit == now; next++ {
			r := &trace.Records[next]
			j := plainJob{index: next, procs: r.NeededProcs(), estimate: r.EstimatedTime()}
			if estimates == workload.ExactEstimates {
				j.estimate = r.Run
			}
			queue = append(queue, j)
			pass(now)
			passed = true
		}
		for i := 0; i < len(running); i++ { // the others in the order of their starts
			if running[i].truly == now && starts[running[i].index] < now {
				leave(i)
				pass(now)
				passed, i = true, -1
			}
		}
		if !passed {
			pass(now)
		}
	}
	return starts
}

// plainReservation is when so many processors will be free, and how many more
// then.
func plainReservation(now core.Time, need, free int, running []plainJob) (shadow core.Time, extra int) {
	ends := slices.Clone(running)
	slices.SortStableFunc(ends, func(a, b plainJob) int { return int(max(-1, min(1, a.end-b.end))) })
	shadow = core.Never
	for _, j := range ends {
		if j.end = max(j.end, now); shadow != core.Never && j.end > shadow {
			break
		}
		if free += j.procs; free >= need && shadow == core.Never {
			shadow = j.end
		}
	}
	return shadow, free - need
}
