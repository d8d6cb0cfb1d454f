package chart

import (
	"bytes"
	"math"
	"testing"

	"github.com/godwit-hpc/godwit/internal/report/plot"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/outcome"
)

// run is one job of 10 s on 4 of 8 processors, and one that never ran.
func run(name string) Run {
	c := outcome.NewCollector(8, 2, true)
	spec := &core.Job{Components: []core.Component{{Min: 4, Max: 4}}}
	observe := func(second float64, kind core.EventKind, id core.JobID, to core.State, n int) {
		c.Observe(&core.Event{At: core.AtSecond(second), Kind: kind, Job: id, To: to, N: n, Spec: spec})
	}
	observe(100, core.JobSubmitted, 1, 0, 0)
	observe(100, core.JobSubmitted, 2, 0, 0)
	observe(105, core.PartPlanned, 1, 0, 4)
	observe(105, core.JobBecame, 1, core.Running, 0)
	observe(115, core.JobBecame, 1, core.Done, 0)
	return Run{Name: name, Records: c.Records(), Series: c.Series(), Procs: 8}
}

func TestDistributionsAreOverCompletedJobs(t *testing.T) {
	for _, c := range []struct {
		draw func([]Run) plot.Chart
		want float64
	}{{MeanSizes, 4}, {MaxSizes, 4}, {ExecutionTimes, 10}, {ResponseTimes, 15}} {
		chart := c.draw([]Run{run("a"), run("b")})
		if len(chart.Series) != 2 || len(chart.Series[0].X) != 1 || chart.Series[0].X[0] != c.want {
			t.Errorf("%s: got %+v, want one job at %g", chart.Title, chart.Series, c.want)
		}
	}
}

func TestTheCourseBeginsWithTheFirstSubmission(t *testing.T) {
	chart := UtilizationChart([]Run{run("a")})
	s := chart.Series[0]
	if len(s.X) != 3 || s.X[0] != 0 || s.X[1] != 5 || s.Y[1] != 0.5 || s.Y[2] != 0 {
		t.Errorf("got %v %v", s.X, s.Y)
	}
	if q := QueueChart([]Run{run("a")}).Series[0]; q.Y[0] != 2 || q.Y[1] != 1 {
		t.Errorf("waiting jobs: %v", q.Y)
	}
	var b bytes.Buffer
	if err := chart.WriteSVG(&b); err != nil || b.Len() == 0 {
		t.Errorf("drawing: %v", err)
	}
}

func TestARunWithoutASeriesIsLeftOut(t *testing.T) {
	r := run("a")
	r.Series = nil
	if n := len(UsedCoresChart([]Run{r}).Series) + len(OperationsChart([]Run{r}).Series); n != 0 {
		t.Errorf("%d curves", n)
	}
}

func TestAveragingKeepsTheArea(t *testing.T) {
	var x, y []float64
	area := 0.0
	for i := range 10_001 {
		x, y = append(x, float64(i*i)), append(y, float64(i%7))
		if i > 0 {
			area += y[i-1] * (x[i] - x[i-1])
		}
	}
	ax, ay := averageWindows(x, y, 400)
	got := 0.0
	for i := 1; i < len(ax); i++ {
		got += ay[i-1] * (ax[i] - ax[i-1])
	}
	if math.Abs(got-area) > 1e-6*area {
		t.Errorf("the area under the averaged curve is %g, was %g", got, area)
	}
}
