package adaptive

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/experiment/calibration"
	"github.com/godwit-hpc/godwit/internal/experiment/loads"
	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(s float64) *api.Time { return &api.Time{Time: noon.Add(time.Duration(s * 1e9))} }

// course is a made-up one that ended after so many seconds.
func course(name string, took, deadline float64, points ...Point) *Course {
	ok, code := deadline > 0 && took <= deadline, 0
	c := &Course{Name: name, Points: points, Deadline: deadline, Output: "same", Free: 0.97}
	c.Final = api.Job{Submitted: at(0), Ended: at(took), ExitCode: &code, CPUS: took * 0.9}
	if deadline > 0 {
		c.Final.DeadlineMet = &ok
	}
	return c
}

// predicts is a course whose end was predicted every second, off by a part of
// what was left, in a band of half of that to either side.
func predicts(name string, took, deadline, off float64) *Course {
	var points []Point
	for t := 1.0; t < took; t++ {
		left := took - t
		points = append(points, Point{At: t, Early: t + left*(1+off)*0.5, Mid: t + left*(1+off), Late: t + left*(1+off)*1.5})
	}
	return course(name, took, deadline, points...)
}

func moved(c *Course, load, at float64) *Course {
	c.LoadAt = load
	c.News = append(c.News, api.Decision{Kind: "decide", Choice: "move to away", SinceS: at},
		api.Decision{Kind: "move", Choice: "move from home to away", SinceS: at})
	return c
}

func TestErrorsAndBandsAreThoseOfTheRemainingTime(t *testing.T) {
	c := predicts("x", 90, 0, 0.2)
	for _, e := range c.PredictionErrors() {
		if math.Abs(e-0.2) > 1e-9 {
			t.Fatalf("an error of %.3f, not 0.2", e)
		}
	}
	if n := len(c.PredictionErrors()); n != 56 { // seconds 30 to 85
		t.Errorf("%d errors", n)
	}
	if held, all := c.CountBands(); held != all || all != 77 { // seconds 9 to 85
		t.Errorf("%d of %d bands held", held, all)
	}
	if held, _ := predicts("x", 90, 0, 2).CountBands(); held != 0 {
		t.Errorf("%d bands held that are far too late", held)
	}
	if errs := course("nothing predicted", 90, 0, Point{At: 50}).PredictionErrors(); len(errs) != 0 {
		t.Errorf("errors %v of predictions that were never made", errs)
	}
}

func TestACourseIsSeenAsItIsTold(t *testing.T) {
	c := &Course{}
	share, chance := 0.5, 0.7
	var said []string
	say := func(_ float64, text string) { said = append(said, text) }
	line := func(now float64, cluster string, news ...api.Decision) {
		l := &api.Live{Job: api.Job{Submitted: at(0), Cluster: cluster, PredictedEnd: at(30), EndEarly: at(25),
			EndLate: at(40), Share: &share, PDeadline: &chance}, News: news}
		c.addLine(l, at(now).Time, say)
	}
	line(1, Home, api.Decision{Kind: "submit", Choice: "taken in"}, api.Decision{Kind: "place", Choice: "cluster home"})
	line(1.1, Home) // the program wrote something
	line(2, Home, api.Decision{Kind: "decide", Choice: "move to away"},
		api.Decision{Kind: "move", Choice: "move from home to away", SinceS: 2})
	line(2.1, Away)
	want := []Point{{1, Home, 0.5, 25, 30, 40, 0.7, -1}, {2, Home, 0.5, 25, 30, 40, 0.7, -1},
		{2.1, Away, 0.5, 25, 30, 40, 0.7, -1}}
	if diff := cmp.Diff(want, c.Points); diff != "" {
		t.Error(diff)
	}
	if len(said) != 2 || !slices.Equal(c.MoveTimes(), []float64{2}) {
		t.Errorf("said %q, moved at %v", said, c.MoveTimes())
	}
}

func TestDeadlinesAreThreeDeviationsAboveTheMeanAndNeverTooClose(t *testing.T) {
	tr := Trial{Alone: []*Course{course("", 90, 0), course("", 100, 0), course("", 110, 0)}}
	if tr.setDeadline(0.1); math.Abs(tr.Deadline-130) > 1e-6 || tr.Floored {
		t.Errorf("deadline %.2f s", tr.Deadline)
	}
	if tr.setDeadline(0.5); math.Abs(tr.Deadline-150) > 1e-6 || !tr.Floored {
		t.Errorf("deadline %.2f s", tr.Deadline)
	}
}

// good is results of which everything holds.
func good() *Results {
	r := &Results{Plan: DefaultPlan(), Machine: measured.Machine{Model: "a CPU", CPUs: 2, At: noon}}
	tr := Trial{Name: "burn", Like: "π", Argv: []string{"/x/burn", "45"}}
	for range 3 {
		tr.Alone = append(tr.Alone, predicts("burn, alone", 45, 0, 0.02))
		tr.Without = append(tr.Without, predicts("burn, without", 105, 50, 0.02))
		tr.With = append(tr.With, moved(predicts("burn, with", 48, 50, 0.02), 15, 17))
	}
	tr.setDeadline(r.Plan.Slack)
	r.Trials = append(r.Trials, tr)
	for round := range 3 {
		r.Costs = append(r.Costs, Cost{Round: round, Wall: 10, CPU: 10})
		for _, every := range r.Plan.Intervals {
			r.Costs = append(r.Costs, Cost{Round: round, Every: every, Wall: 10.01 + 0.01*float64(round), CPU: 10, Start: 0.05,
				Agent: 0.01, Watch: 0.0005})
		}
		r.Costs = append(r.Costs, Cost{Round: round, Every: 2 * time.Second, Sandbox: true, Wall: 10.1, Start: 0.2,
			Watch: 0.002})
	}
	r.Live = &LiveResults{Plan: r.Plan.Live, Machine: r.Machine}
	for n := range 100 {
		r.Live.Runs = append(r.Live.Runs, lived(n, 0.05))
	}
	for run := range uint64(200) {
		j := calibration.Judged{Run: run, Load: "stairs (generated)", Moment: calibration.Moments[0], Actual: 10, AsNow: 10,
			Mid: 10.5, Low: 8, High: 12}
		if run%10 == 0 {
			j.Low = 11
		}
		r.Judged = append(r.Judged, j)
	}
	s := Simulated{Rule: "fixed N = 10 (papers/004)"}
	s.Loads, s.Verdicts = calibration.SplitByLoad(r.Judged, loads.Alone)
	r.Simulated = append(r.Simulated, s)
	return r
}

func TestWhatIsMeasuredIsHeldAgainstThePaper(t *testing.T) {
	for _, v := range good().CheckStatements() {
		if !v.Holds {
			t.Errorf("%s does not hold: %s", v.Name, v.Saw)
		}
	}
	if n := len(good().CheckStatements()); n != 10 {
		t.Errorf("%d statements", n)
	}
	for name, spoil := range map[string]func(r *Results){
		"accurate": func(r *Results) { r.Trials[0].Alone = []*Course{predicts("", 45, 0, 0.3)} },
		"missed":   func(r *Results) { r.Trials[0].Without[1] = predicts("", 49, 50, 0) },
		"met":      func(r *Results) { r.Trials[0].With[1] = moved(predicts("", 51, 50, 0), 15, 17) },
		"earlier":  func(r *Results) { r.Trials[0].Without[1] = predicts("", 47, 40, 0) },
		"quick":    func(r *Results) { r.Trials[0].With[1] = predicts("", 48, 50, 0) },
		"same":     func(r *Results) { r.Trials[0].With[0].Output = "other" },
		"overhead": func(r *Results) { r.Costs[1].Wall = 20 },
		"watching": func(r *Results) { r.Costs[2].Watch = 0.01 },
		"calibrated error": func(r *Results) {
			for n := range r.Live.Runs {
				r.Live.Runs[n] = lived(n, 0.2)
			}
		},
		"calibrated bands": func(r *Results) {
			for n := range r.Judged {
				r.Judged[n].Low = 9
			}
		},
	} {
		r := good()
		spoil(r)
		for _, v := range r.CheckStatements() {
			if v.Holds == (v.Name == name) {
				t.Errorf("%s spoilt: %s: %v, %s", name, v.Name, v.Holds, v.Saw)
			}
		}
	}
	if list := (&Results{}).CheckStatements(); len(list) != 0 {
		t.Errorf("of nothing measured it says %v", list)
	}
}

func TestTheReportIsTheSameForTheSameResults(t *testing.T) {
	data, err := json.Marshal(good())
	if err != nil {
		t.Fatal(err)
	}
	kept := &Results{}
	if err := json.Unmarshal(data, kept); err != nil {
		t.Fatal(err)
	}
	kept.Live = good().Live // is kept in another file
	one, two := t.TempDir(), t.TempDir()
	path, err := good().Write(one)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kept.Write(two); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"10 of the 10 statements hold", "100 real runs of burn", "| `burn 45` |", "3 of 3",
		"0 of 3", "far greater", "fixed N = 10", "97 % of the core", "+0.20 ± 0.25 %"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the report does not say %q", part)
		}
	}
	for _, name := range []string{"adaptive-broker.md", "adaptive-broker/alone.svg", "adaptive-broker/without.svg",
		"adaptive-broker/with.svg", "adaptive-broker/overhead.svg", "adaptive-broker/live.svg"} {
		a, err := os.ReadFile(filepath.Join(one, name))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(filepath.Join(two, name)); err != nil || string(a) != string(b) {
			t.Errorf("%s differs: %v", name, err)
		}
		if strings.Contains(string(a), "no data") {
			t.Errorf("%s shows nothing", name)
		}
	}
}

func TestThePublishedScenarioIsTheUsualPlan(t *testing.T) {
	p, err := ReadPlan("../../../scenarios/adaptive.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultPlan()
	want.File, want.Programs = "adaptive.yaml", []string{burnName, piName, ordersName}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
	if _, err := ReadPlan("nowhere.yaml"); !badinput.Is(err) {
		t.Error(err)
	}
}

func TestAWrongScenarioIsToldByLineFieldAndValue(t *testing.T) {
	for text, want := range map[string]string{
		"repeat: 0":                      `:1: repeat "0": expected a whole number from 1 to 1000`,
		"length: 0s":                     `:1: length "0s":`,
		"others: {program: 2}":           `:1: others.program: unknown field, did you mean programs?`,
		"overhead: {intervals: [3m]}":    `:1: overhead.intervals[0] "3m": expected a time from 100ms to 2m`,
		"calibration: {atOnce: 3}":       `:1: calibration.atOnce "3": expected a whole number from 1 to 2`,
		"programs: burn":                 `:1: programs "burn": expected a list of programs`,
		"slack: -1\nsample: 1s":          `:1: slack "-1":`,
		"sample: 1ms":                    `:1: sample "1ms": expected a time from 100ms to 2m`,
		"length: 20s\nsample: x\nx: 1\n": `:2: sample "x":`,
	} {
		_, err := parsePlan("s.yaml", []byte(text))
		if !badinput.Is(err) || !strings.HasPrefix(err.Error(), "s.yaml"+want) {
			t.Errorf("%s\ngot  %v\nwant s.yaml%s", text, err, want)
		}
	}
}

func FuzzPlan(f *testing.F) {
	data, err := os.ReadFile("../../../scenarios/adaptive.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parsePlan("s.yaml", data)
		if err != nil {
			if !badinput.Is(err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("not for users: %q", err)
			}
			return
		}
		if p.Repeat < 1 || p.Length <= 0 || p.Sample <= 0 || p.Others.N < 1 || p.Others.After <= 0 || !(p.Slack >= 0) {
			t.Errorf("accepted %+v", p)
		}
	})
}

func TestAnImpossiblePlanIsTheUsersMistake(t *testing.T) {
	for _, p := range []Plan{{Parts: "ax"}, {}, {Parts: "a", Jobs: "nowhere"},
		{Parts: "a", Jobs: examples(t), Programs: []string{"brun"}}} {
		if _, err := p.MeasureAll(t.Context()); !badinput.Is(err) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}
