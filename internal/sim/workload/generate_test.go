package workload_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/app"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// koala is the workload of paper 001, section VI-C.
func koala(kinds workload.Kinds) workload.Spec {
	gadget := &app.App{Name: "gadget2", Speedup: app.Amdahl{Serial: 0.1}}
	ft := &app.App{Name: "ft", Speedup: app.Amdahl{Serial: 0.2}, Accept: app.PowersOfTwo}
	return workload.Spec{
		Jobs:     300,
		Arrivals: workload.Arrivals{Every: 2 * time.Minute},
		Kinds:    kinds,
		Programs: []workload.Program{
			{App: gadget, Weight: 1, Work: 1200, Components: []core.Component{{Min: 2, Max: 46, Initial: 2}}, RigidSize: 2},
			{App: ft, Weight: 1, Work: 240, Components: []core.Component{{Min: 2, Max: 32, Initial: 2}}, RigidSize: 2},
		},
	}
}

func generate(t testing.TB, s workload.Spec, seed uint64) []workload.Job {
	t.Helper()
	source, err := workload.Generate(s, seed)
	if err != nil {
		t.Fatal(err)
	}
	return drain(t, source)
}

func TestProgramsAreDrawnEvenlyAndInTheSameOrderWhateverTheKinds(t *testing.T) {
	wm := generate(t, koala(workload.Kinds{}), 1)
	wmr := generate(t, koala(workload.Kinds{Malleable: 0.5, Rigid: 0.5}), 1)
	counts := map[string]int{}
	for i := range wm {
		if wm[i].App.Name != wmr[i].App.Name || wm[i].Submit != wmr[i].Submit {
			t.Fatalf("job %d: %s at %v in one, %s at %v in the other", i, wm[i].App.Name, wm[i].Submit, wmr[i].App.Name,
				wmr[i].Submit)
		}
		counts[wm[i].App.Name]++
		counts[wmr[i].Spec.Kind.String()]++
		c := wmr[i].Spec.Components[0]
		if wmr[i].Spec.Kind == core.Rigid && (c.Min != 2 || c.Max != 2 || c.Initial != 0) {
			t.Fatalf("rigid job %d has sizes %+v", i, c)
		}
	}
	if got := fmt.Sprint(counts); got != "map[ft:150 gadget2:150 malleable:150 rigid:150]" {
		t.Error(got)
	}
	if last := wm[299].Submit; last != core.AtSecond(299*120) {
		t.Errorf("last submission at %v s", last.Seconds())
	}
}

func TestTheSameSeedGivesTheSameJobsAndAnotherSeedOthers(t *testing.T) {
	s := koala(workload.Kinds{Malleable: 1, Moldable: 1, Rigid: 1})
	s.Arrivals = workload.Arrivals{Poisson: time.Minute}
	s.Scale = workload.Scale{Lognormal: 1}
	one, again, other := show(generate(t, s, 7)), show(generate(t, s, 7)), show(generate(t, s, 8))
	if one != again || one == other {
		t.Error("a workload depends on something else than its seed, or not on its seed")
	}
}

func TestArrivalsAtRandomAreAsFarApartInTheMeanAsAsked(t *testing.T) {
	s := koala(workload.Kinds{})
	s.Jobs, s.Arrivals = 20_000, workload.Arrivals{Poisson: time.Minute}
	jobs := generate(t, s, 1)
	mean := jobs[len(jobs)-1].Submit.Seconds() / float64(len(jobs))
	if math.Abs(mean-60) > 1.5 {
		t.Errorf("jobs come every %.1f s in the mean, want 60", mean)
	}
}

func TestTheScaleOfWorkKeepsItsMean(t *testing.T) {
	for _, scale := range []workload.Scale{{}, {Lognormal: 0.8}, {Uniform: workload.Range{Lo: 0.5, Hi: 1.5}}} {
		s := koala(workload.Kinds{})
		s.Jobs, s.Scale = 40_000, scale
		sum, low, high := 0.0, math.Inf(1), 0.0
		for _, j := range generate(t, s, 1) {
			factor := j.Work / 1200
			if j.App.Name == "ft" {
				factor = j.Work / 240
			}
			sum, low, high = sum+factor, min(low, factor), max(high, factor)
		}
		if mean := sum / 40_000; math.Abs(mean-1) > 0.02 {
			t.Errorf("%+v: mean factor %.3f", scale, mean)
		}
		if u := scale.Uniform; u.Hi > 0 && (low < u.Lo || high > u.Hi || high-low < 0.9) {
			t.Errorf("%+v: factors from %.2f to %.2f", scale, low, high)
		}
	}
}

func TestEstimatesAndDeadlinesAreFactorsOfTheRunTime(t *testing.T) {
	s := koala(workload.Kinds{Malleable: 1, Rigid: 1})
	for i := range s.Programs {
		s.Programs[i].App.Speedup = app.Linear{}
	}
	s.Estimate = workload.Range{Lo: 1.5, Hi: 1.5}
	s.Deadline = workload.Range{Lo: 2, Hi: 2}
	for _, j := range generate(t, s, 1) {
		run, best := j.Work/2, j.Work/46
		if j.App.Name == "ft" {
			best = j.Work / 32
		}
		if want := core.DurationFromSeconds(1.5 * run); j.Limit != want || j.Spec.Estimate != want {
			t.Fatalf("%s: limit %v, want %v", j.App.Name, j.Limit, want)
		}
		if want := j.Submit.Add(core.DurationFromSeconds(2 * best)); j.Spec.Deadline != want {
			t.Fatalf("%s: deadline %v, want %v", j.App.Name, j.Spec.Deadline, want)
		}
	}
}

func TestCoAllocatedJobsKeepTheirComponents(t *testing.T) {
	s := koala(workload.Kinds{Malleable: 1, Rigid: 1})
	s.Programs[0].Components = []core.Component{
		{Min: 2, Max: 8, Inputs: []core.FileID{1}}, {Min: 1, Max: 4, Clusters: []core.ClusterID{2}},
	}
	s.Programs[0].RigidSize = 0
	for _, j := range generate(t, s, 1) {
		if j.App.Name == "ft" {
			continue
		}
		want := slices.Clone(s.Programs[0].Components)
		if j.Spec.Kind == core.Rigid {
			want[0].Max, want[1].Max = want[0].Min, want[1].Min
		}
		if got := j.Spec.Components; !reflect.DeepEqual(got, want) {
			t.Fatalf("components %v, want %v", got, want)
		}
	}
}

func TestSharesAreDealtExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := koala(workload.Kinds{
			Malleable: rapid.Float64Range(0, 3).Draw(t, "malleable"),
			Moldable:  rapid.Float64Range(0, 3).Draw(t, "moldable"),
			Rigid:     rapid.Float64Range(0.1, 3).Draw(t, "rigid"),
		})
		s.Jobs = rapid.IntRange(1, 500).Draw(t, "jobs")
		source, err := workload.Generate(s, rapid.Uint64().Draw(t, "seed"))
		if err != nil {
			t.Fatal(err)
		}
		var counts [3]float64
		for j := new(workload.Job); source.NextJob(j); {
			counts[j.Spec.Kind]++
		}
		sum := s.Kinds.Malleable + s.Kinds.Moldable + s.Kinds.Rigid
		for kind, share := range [3]float64{s.Kinds.Rigid, s.Kinds.Moldable, s.Kinds.Malleable} {
			if exact := share / sum * float64(s.Jobs); math.Abs(counts[kind]-exact) >= 1+1e-9 {
				t.Fatalf("%v jobs are %v, want %.2f", counts[kind], core.Kind(kind), exact)
			}
		}
	})
}

func TestWrongSpecsAreExplained(t *testing.T) {
	for want, spoil := range map[string]func(*workload.Spec){
		`jobs "0": expected a whole number from 1 to 100000000`:              func(s *workload.Spec) { s.Jobs = 0 },
		`every: either every or poisson, above 0, says how jobs arrive`:      func(s *workload.Spec) { s.Arrivals.Poisson = 1 },
		`every "9000h0m0s": expected jobs at most 365 days apart`:            func(s *workload.Spec) { s.Arrivals.Every = 9000 * time.Hour },
		`apps "0": expected from 1 to 1000 applications`:                     func(s *workload.Spec) { s.Programs = nil },
		`kinds: expected shares of at least 0, not all 0`:                    func(s *workload.Spec) { s.Kinds.Rigid = -1 },
		`scale: either uniform: [LO, HI] above 0, or lognormal from 0 to 5`:  func(s *workload.Spec) { s.Scale.Lognormal = -1 },
		`estimate: expected a factor, or [LO, HI], from 0 to 1e+06`:          func(s *workload.Spec) { s.Estimate = workload.Range{Lo: 2, Hi: 1} },
		`deadline: expected a factor, or [LO, HI], from 0 to 1e+06`:          func(s *workload.Spec) { s.Deadline = workload.Range{Lo: math.NaN()} },
		`retries "-1": expected a whole number of at least 0`:                func(s *workload.Spec) { s.Retries = -1 },
		`share "0": expected a number above 0, at most 1e+06`:                func(s *workload.Spec) { s.Programs[0].Weight = 0 },
		`work "NaN": expected above 0 and at most 1e+15 seconds on one core`: func(s *workload.Spec) { s.Programs[0].Work = math.NaN() },
		`components: expected at least one component`:                        func(s *workload.Spec) { s.Programs[0].Components = nil },
		`min "0": expected a whole number from 1 to 1073741824`:              func(s *workload.Spec) { s.Programs[0].Components[0].Min = 0 },
		`max "1": expected a whole number from min 2 to 1073741824`:          func(s *workload.Spec) { s.Programs[0].Components[0].Max = 1 },
		`initial "50": expected a size from min 2 to max 46`:                 func(s *workload.Spec) { s.Programs[0].Components[0].Initial = 50 },
		`rigid_size "1": expected a size from min 2 to max 46`:               func(s *workload.Spec) { s.Programs[0].RigidSize = 1 },
		`rigid_size "6": expected a size that it accepts: powers-of-two`:     func(s *workload.Spec) { s.Programs[1].RigidSize = 6 },
		`initial "3": expected a size that it accepts: powers-of-two`:        func(s *workload.Spec) { s.Programs[1].Components[0].Initial = 3 },
		`min "3": expected a size that it accepts: powers-of-two`:            func(s *workload.Spec) { *s = threes(*s) },
	} {
		s := koala(workload.Kinds{})
		spoil(&s)
		_, err := workload.Generate(s, 1)
		if !badinput.Is(err) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func threes(s workload.Spec) workload.Spec {
	s.Programs[1].Components[0] = core.Component{Min: 3, Max: 32}
	s.Programs[1].RigidSize = 0
	return s
}
