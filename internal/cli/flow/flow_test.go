package flow

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/cli/connect"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/recordings"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
)

// workflows are the shipped ones and a sample of the recorded ones.
func workflows(t testing.TB, every int) []string {
	t.Helper()
	files, _ := filepath.Glob("../../../examples/flows/*.json")
	if len(files) == 0 {
		t.Fatal("no workflows in examples/flows")
	}
	if dir := recordings.OrGenerated(t, "workflows"); dir != "" {
		list, _ := filepath.Glob(filepath.Join(dir, "*", "*.json.gz"))
		for i := 0; i < len(list); i += every {
			files = append(files, list[i])
		}
	}
	return files
}

func TestPlansOfRealWorkflowsHoldAndAreAtMostThoseOfHEFT(t *testing.T) {
	var gain, plans float64
	for _, platform := range []string{"hetero8", "hetero64", "hetero512"} {
		_, g, err := loadGrid("../../../examples/platforms/" + platform + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range workflows(t, 11) {
			w, err := loadWfFormat(file)
			if err != nil {
				t.Fatal(err)
			}
			d := w.dag
			heft, err := flow.New(d, g, flow.Options{Heuristics: []string{flow.HEFT}})
			if err != nil {
				t.Fatal(err)
			}
			budget := func(float64, float64) flow.Budget { return flow.Budget{Steps: 2000, Seed: 1} }
			p, err := flow.New(d, g, flow.Options{Budget: budget})
			if err != nil {
				t.Fatal(err)
			}
			if err := flow.CheckSchedule(d, g, p.Schedule); err != nil {
				t.Errorf("%s on %s: %v", file, platform, err)
			}
			if p.Schedule.Makespan > heft.Schedule.Makespan || p.Schedule.Makespan < p.Bound*(1-1e-9) {
				t.Errorf("%s on %s: makespan %v, HEFT %v, bound %v", file, platform, p.Schedule.Makespan, heft.Schedule.Makespan,
					p.Bound)
			}
			gain += 1 - p.Schedule.Makespan/heft.Schedule.Makespan
			plans++
		}
	}
	t.Logf("%.0f plans, %.2f %% shorter than HEFT's in the mean", plans, 100*gain/plans)
}

// BenchmarkRecordedWorkflows plans all recorded workflows as `flow plan` does and
// compares with `flow plan --heuristics heft --improve 0s`, the time to plan added to
// both: CPU time of this process, so that it does not matter what else the machine does.
// -v tells of each. Every second one was looked at while the planner was made; the
// others were held out.
func BenchmarkRecordedWorkflows(b *testing.B) {
	a := &app{connect.NewConnector(&term.App{Now: cpuClock})}
	term.FavourSpeed()
	files := workflows(b, 1)
	shipped, _ := filepath.Glob("../../../examples/flows/*.json")
	files = files[len(shipped):]
	if len(files) == 0 {
		b.Skip("no recorded workflows")
	}
	for _, platform := range []string{"hetero8", "hetero64", "hetero512"} {
		b.Run(platform, func(b *testing.B) {
			_, g, err := loadGrid("../../../examples/platforms/" + platform + ".yaml")
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				var known, held compared
				for i, file := range files {
					if c := compare(b, a, g, file); i%2 == 0 {
						known.add(c)
					} else {
						held.add(c)
					}
				}
				b.ReportMetric(held.net/held.plans, "%net-held-out")
				held.add(known)
				held.report(b)
			}
		})
	}
}

// cpuClock advances with the CPU time of this process.
func cpuClock() time.Time {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Unix(0, used.Utime.Nano()+used.Stime.Nano())
}

// compared sums up how our plans compare with those of HEFT.
type compared struct {
	plans, longer, losing, gain, net, worst, heft, ours float64
}

func (c *compared) add(o compared) {
	c.plans, c.longer, c.losing = c.plans+o.plans, c.longer+o.longer, c.losing+o.losing
	c.gain, c.net, c.worst = c.gain+o.gain, c.net+o.net, min(c.worst, o.worst)
	c.heft, c.ours = c.heft+o.heft, c.ours+o.ours
}

// compare plans one workflow by HEFT alone and as we do.
func compare(b *testing.B, a *app, g *flow.Grid, file string) compared {
	w, err := loadWfFormat(file)
	if err != nil {
		b.Fatal(err)
	}
	planned := func(f flowFlags) (*flow.Plan, float64) {
		runtime.GC() // nobody pays for the other's garbage
		f.weights, f.steps, f.seed = flow.Weights{Run: 1, Move: 1}, maxSteps, 1
		begin := a.Now()
		p, err := a.makePlan(b.Context(), w.dag, g, &f)
		if err != nil {
			b.Fatal(err)
		}
		return p, a.Now.Since(begin).Seconds()
	}
	alone := flowFlags{heuristics: []string{flow.HEFT}, given: true}
	planned(alone) // what comes first finds nothing in the caches
	heft, few := planned(alone)
	ours, spent := planned(flowFlags{})
	x, y := heft.Schedule.Makespan, ours.Schedule.Makespan
	c := compared{plans: 1, gain: 100 * (1 - y/x), net: 100 * (1 - (y+spent)/(x+few)), heft: 100 * (1 - ours.Bound/x),
		ours: 100 * (1 - ours.Bound/y)}
	c.worst = min(0, c.net)
	if y > x {
		c.longer = 1
	}
	if c.net < -0.05 {
		c.losing = 1
	}
	if testing.Verbose() {
		b.Logf("%s: HEFT %.2f s in %.1f ms, ours %.2f s by %s in %.1f ms, %.2f %% shorter, %.2f %% with planning; bound "+
			"%.2f s",
			filepath.Base(file), x, 1000*few, y, ours.Heuristic, 1000*spent, c.gain, c.net, ours.Bound)
	}
	return c
}

func (c *compared) report(b *testing.B) {
	b.ReportMetric(c.gain/c.plans, "%shorter")
	b.ReportMetric(c.net/c.plans, "%net")
	b.ReportMetric(c.worst, "%net-worst")
	b.ReportMetric(c.longer, "longer")
	b.ReportMetric(c.losing, "losing")
	b.ReportMetric(c.heft/c.plans, "%heft-over-bound")
	b.ReportMetric(c.ours/c.plans, "%ours-over-bound")
}

func TestTransferTimesFollowTheRoutesOfThePlatform(t *testing.T) {
	_, g, err := loadGrid("../../../examples/platforms/hetero8.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// 45 MB from the partner to a desktop: 0.05 + 20 + 0.5 + 0.3 ms, and 8 s at
	// the 45 Mbit/s of the long line.
	d, err := flow.NewDAG([]flow.Task{{Name: "a", Work: 2.4}, {Name: "b", Work: 0.6}},
		[]flow.Edge{{From: 0, To: 1, Bytes: 45e6}})
	if err != nil {
		t.Fatal(err)
	}
	begin := 1 + 0.02085 + 8
	s := &flow.Schedule{Slots: []flow.Slot{{Host: 6, Start: 0, End: 1}, {Host: 0, Start: begin, End: begin + 1}},
		Makespan: begin + 1}
	if err := flow.CheckSchedule(d, g, s); err != nil {
		t.Error(err)
	}
	s.Slots[1].Start, s.Slots[1].End, s.Makespan = begin-1e-3, begin-1e-3+1, begin-1e-3+1
	if err := flow.CheckSchedule(d, g, s); err == nil {
		t.Error("a file that arrives a millisecond too late was accepted")
	}
}

func TestAPlanCanBeMadeOnASimGridPlatform(t *testing.T) {
	_, g, err := loadGrid("../../format/platform/testdata/simgrid/campus.xml")
	if err != nil {
		t.Fatal(err)
	}
	w, err := loadWfFormat("../../../examples/flows/mosaic.json")
	if err != nil {
		t.Fatal(err)
	}
	d := w.dag
	p, err := flow.New(d, g, flow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := flow.CheckSchedule(d, g, p.Schedule); err != nil {
		t.Error(err)
	}
}

func TestTheLegendOfAGanttChartFollowsTheTime(t *testing.T) {
	var tasks []flow.Task
	s := &flow.Schedule{Makespan: 10}
	// Nine kinds of which the last starts first; one task of each but of the kind z three.
	for i, name := range []string{"i1", "h1", "g1", "f1", "e1", "d1", "c1", "b1", "z1", "z2", "z3"} {
		tasks = append(tasks, flow.Task{Name: name})
		s.Slots = append(s.Slots, flow.Slot{Start: float64(9 - i), End: 10})
	}
	d, err := flow.NewDAG(tasks[:3], nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(ganttKinds(d, s)); got != "[g h i]" {
		t.Errorf("kinds %s, want those that start first before the others", got)
	}
	if d, err = flow.NewDAG(tasks, nil); err != nil {
		t.Fatal(err)
	}
	kinds := ganttKinds(d, s)
	if len(kinds) != len(ganttColours)-1 || kinds[0] != "z" || kinds.colourOf("b1") != ganttColours[len(ganttColours)-1] {
		t.Errorf("of nine kinds %v have colours of their own, b has %s", kinds, kinds.colourOf("b1"))
	}
	svg := string(ganttSVG(d, flow.NewGrid([]flow.Host{{Name: "h", Cores: 1, Speed: 1}}, 1,
		func(int, int) flow.Route { return flow.Route{} }), s,
		&flowReport{Workflow: "w", Platform: "p", MakespanS: 10, Heuristic: flow.Improved}))
	if !strings.Contains(svg, "w on p: makespan 10.0 s (local search)") || !strings.Contains(svg, ">others<") {
		t.Errorf("title or legend: %.600s", svg)
	}
}
