package workload_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/swf"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/app"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// Columns: job submit wait run procs cpu mem reqprocs reqtime reqmem status
// user group exe queue partition before think.
const small = `; MaxProcs: 64
7  100 0  600 8 -1 -1  8 1000 -1 1 3 1  5 1 -1 -1 -1
9  160 0    0 1 -1 -1  1   60 -1 1 3 1 -1 1 -1 -1 -1
12 160 0  -1 16 -1 -1 16  900 -1 5 4 1 -1 1 -1 -1 -1
13 220 0  300 4 -1 -1 -1  200 -1 1 4 1 -1 1 -1 -1 -1
20 340 0   50 -1 -1 -1 -1 60 -1 1 -1 1 -1 1 -1 -1 -1
21 400 0   50 64 -1 -1 64 -1 -1 1 -1 1 -1 1 -1 -1 -1
`

func read(t testing.TB, text string) *swf.Trace {
	t.Helper()
	trace, err := swf.ReadAll(strings.NewReader(text), "small.swf", swf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func fromTrace(t testing.TB, trace *swf.Trace, o workload.TraceOptions) ([]workload.Job, workload.Stats) {
	t.Helper()
	s, stats, err := workload.FromTrace(trace, o)
	if err != nil {
		t.Fatal(err)
	}
	return drain(t, s), stats
}

// drain also checks what every source promises.
func drain(t testing.TB, s workload.Source) []workload.Job {
	t.Helper()
	var all []workload.Job
	for {
		var j workload.Job
		if !s.NextJob(&j) {
			break
		}
		if j.Spec.ID != core.JobID(len(all)+1) || j.App == nil || len(j.Spec.Components) == 0 {
			t.Fatalf("job %d is incomplete: %+v", len(all)+1, j)
		}
		if len(all) > 0 && j.Submit < all[len(all)-1].Submit {
			t.Fatalf("job %d is submitted before the one before it", j.Spec.ID)
		}
		all = append(all, j)
	}
	if s.Len() != len(all) {
		t.Fatalf("Len() = %d, but %d jobs came", s.Len(), len(all))
	}
	return all
}

func show(jobs []workload.Job) string {
	var b strings.Builder
	for _, j := range jobs {
		c := j.Spec.Components[0]
		fmt.Fprintf(&b, "%d label=%d at=%g %s %d-%d run=%v work=%g limit=%v app=%s user=%s\n", j.Spec.ID, j.Label,
			j.Submit.Seconds(), j.Spec.Kind, c.Min, c.Max, j.Run, j.Work, j.Limit, j.Spec.App, j.Spec.User)
	}
	return b.String()
}

func TestATraceIsTakenAsItIsUnlessToldOtherwise(t *testing.T) {
	jobs, stats := fromTrace(t, read(t, small), workload.TraceOptions{MaxProcs: 64})
	want := `1 label=7 at=100 rigid 8-8 run=10m0s work=0 limit=16m40s app=app-5@8 user=user-3
2 label=9 at=160 rigid 1-1 run=0s work=0 limit=1m0s app=user-3@1 user=user-3
3 label=13 at=220 rigid 4-4 run=5m0s work=0 limit=3m20s app=user-4@4 user=user-4
4 label=21 at=400 rigid 64-64 run=50s work=0 limit=50s app=size-64 user=
`
	if got := show(jobs); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	wantStats := workload.Stats{Records: 6, Jobs: 4, Skipped: []workload.Skip{
		{Reason: "run time unknown", Count: 1}, {Reason: "no processors requested or allocated", Count: 1}}}
	if !reflect.DeepEqual(stats, wantStats) {
		t.Errorf("stats %+v, want %+v", stats, wantStats)
	}
}

func TestTheOptionsChangeLoadEstimatesOverrunsAndLength(t *testing.T) {
	jobs, stats := fromTrace(t, read(t, small), workload.TraceOptions{
		Load: 2, Estimates: workload.ExactEstimates, Overrun: workload.OverrunKilled, First: 3,
	})
	want := `1 label=7 at=100 rigid 8-8 run=10m0s work=0 limit=10m0s app=app-5@8 user=user-3
2 label=9 at=130 rigid 1-1 run=0s work=0 limit=0s app=user-3@1 user=user-3
3 label=13 at=160 rigid 4-4 run=3m20s work=0 limit=3m20s app=user-4@4 user=user-4
`
	if got := show(jobs); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if stats.Killed != 1 {
		t.Errorf("%d killed, want 1", stats.Killed)
	}
}

func TestAMalleableVersionHasSizesAroundTheRecordedOne(t *testing.T) {
	jobs, stats := fromTrace(t, read(t, small), workload.TraceOptions{
		MaxProcs: 64, Kind: core.Malleable, Speedup: app.Linear{},
	})
	want := `1 label=7 at=100 malleable 2-16 run=0s work=4800 limit=1h6m40s app=app-5@8 user=user-3
2 label=9 at=160 malleable 1-2 run=0s work=0 limit=1m0s app=user-3@1 user=user-3
3 label=13 at=220 malleable 1-8 run=0s work=1200 limit=13m20s app=user-4@4 user=user-4
4 label=21 at=400 malleable 16-64 run=0s work=3200 limit=3m20s app=size-64 user=
`
	if got := show(jobs); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if stats.Flexible != 4 {
		t.Errorf("%d flexible, want 4", stats.Flexible)
	}
}

func TestAJobLargerThanEveryClusterIsAnErrorOrIsCounted(t *testing.T) {
	_, _, err := workload.FromTrace(read(t, small), workload.TraceOptions{File: "small.swf", MaxProcs: 32})
	want := `small.swf: job 21, requested processors "64": expected at most 32, what the largest cluster has`
	if !badinput.Is(err) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, _, err = workload.FromTrace(read(t, small), workload.TraceOptions{MaxProcs: 2, First: 1})
	if want := `job 7, requested processors "8": expected at most 2, what the largest cluster has`; err == nil ||
		err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, stats := fromTrace(t, read(t, small), workload.TraceOptions{MaxProcs: 32, Lenient: true})
	last := stats.Skipped[len(stats.Skipped)-1]
	if want := (workload.Skip{Reason: "needs more cores than the largest cluster has", Count: 1}); last != want ||
		stats.Jobs != 3 {
		t.Errorf("%+v", stats)
	}
}

func TestWrongTraceOptionsAreExplained(t *testing.T) {
	for want, o := range map[string]workload.TraceOptions{
		`share "1.5": expected a number from 0 to 1`:         {Share: 1.5},
		`min_share "2": expected a number from 0 to 1`:       {MinShare: 2},
		`max_share "0.5": expected a number from 1 to 1e+06`: {MaxShare: 0.5},
		`load "-1": expected a number from 1e-06 to 1e+06`:   {Load: -1},
		`first "-2": expected a number from 0 to 1e+09`:      {First: -2},
	} {
		_, _, err := workload.FromTrace(read(t, small), o)
		if !badinput.Is(err) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{second(workload.ParseEstimates("estimates", "guess")), `estimates "guess": expected user or exact`},
		{second(workload.ParseOverrun("--overrun", "")), `--overrun: expected run or kill`},
		{second(workload.ParseOverrun("--overrun", "kill")), "<nil>"},
		{second(workload.ParseEstimates("estimates", "user")), "<nil>"},
	} {
		if got := fmt.Sprint(c.err); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestTheShareOfMalleableJobsFollowsTheSeedJobByJob(t *testing.T) {
	trace := generated(2000)
	o := workload.TraceOptions{Kind: core.Moldable, Share: 0.3, Seed: 1}
	all, stats := fromTrace(t, trace, o)
	if stats.Flexible < 500 || stats.Flexible > 700 {
		t.Errorf("%d of 2000 flexible, want about 600", stats.Flexible)
	}
	o.First = 100
	some, _ := fromTrace(t, trace, o)
	if show(some) != show(all[:100]) {
		t.Error("the first 100 jobs depend on how many follow")
	}
	o.First, o.Seed = 0, 2
	if other, _ := fromTrace(t, trace, o); show(other) == show(all) {
		t.Error("another seed gives the same jobs")
	}
}

func TestJobsStayAsTheyWereWhenMoreAreMade(t *testing.T) {
	s, _, err := workload.FromTrace(generated(1000), workload.TraceOptions{Kind: core.Malleable, Share: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	var first workload.Job
	s.NextJob(&first)
	before := show([]workload.Job{first})
	for j := new(workload.Job); s.NextJob(j); {
		j.Spec.Components[0].Min++
	}
	if after := show([]workload.Job{first}); after != before {
		t.Errorf("%s became %s", before, after)
	}
}

func TestMakingAJobOfATraceCostsLessThanOneAllocation(t *testing.T) {
	s, _, err := workload.FromTrace(generated(5000), workload.TraceOptions{Kind: core.Malleable, Share: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	var j workload.Job
	if n := testing.AllocsPerRun(4000, func() { s.NextJob(&j) }); n >= 1 {
		t.Errorf("%v allocations a job", n)
	}
}

// checkExact says whether the malleable version of each job takes, with the
// recorded processors, the recorded time to the nanosecond.
func checkExact(t *testing.T, trace *swf.Trace) {
	t.Helper()
	rigid, _ := fromTrace(t, trace, workload.TraceOptions{})
	flexible, _ := fromTrace(t, trace, workload.TraceOptions{Kind: core.Malleable, Seed: 5})
	curves := map[*app.App]bool{}
	for i, r := range rigid {
		f := flexible[i]
		procs := r.Spec.Components[0].Min
		p := app.BeginProgress(f.Work, f.Submit, f.App.WorkRate(procs, 1))
		if took := p.FinishTime().Sub(f.Submit); took != r.Run {
			t.Fatalf("job %d takes %v with %d processors, want %v", r.Label, took, procs, r.Run)
		}
		c := f.Spec.Components[0]
		if c.Min > procs || c.Max < procs || c.Min < 1 {
			t.Fatalf("job %d: size %d is not in [%d, %d]", r.Label, procs, c.Min, c.Max)
		}
		if d, ok := f.App.Speedup.(app.Downey); !ok || d.A < max(1, 0.3*float64(procs)) || d.A > 3*float64(procs) ||
			d.Sigma < 0 || d.Sigma > 2 {
			t.Fatalf("job %d of %d processors scales by %v", r.Label, procs, f.App.Speedup)
		}
		curves[f.App] = true
	}
	t.Logf("%d jobs, %d programs", len(rigid), len(curves))
}

func TestAMalleableVersionTakesTheRecordedTimeAtTheRecordedSize(t *testing.T) {
	checkExact(t, generated(3000))
}

func TestJobsOfOneProgramShareOneCurve(t *testing.T) {
	jobs, _ := fromTrace(t, generated(3000), workload.TraceOptions{Kind: core.Malleable})
	curves := map[string]*app.App{}
	for _, j := range jobs {
		if a := curves[j.Spec.App]; a != nil && a != j.App {
			t.Fatalf("program %s has two curves", j.Spec.App)
		}
		curves[j.Spec.App] = j.App
	}
}

// generated is a trace of n jobs for where no real one is wanted or at hand.
func generated(n int) *swf.Trace {
	trace := &swf.Trace{}
	for i := range n {
		trace.Records = append(trace.Records, swf.Record{
			ID: int64(i + 1), Submit: core.AtSecond(float64(i * 37)),
			Run:            time.Duration(i*i%90001) * time.Second,
			RequestedTime:  time.Duration(i*i%90001+600) * time.Second,
			RequestedProcs: int32(1 + i*i%128), Allocated: swf.Unknown,
			User: int32(i % 50), App: swf.Unknown, Status: swf.Completed,
		})
	}
	return trace
}
