package adaptive

import (
	"bytes"
	"context"
	"errors"
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
	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// lived is a made-up run that took 8 s at half its processor, predicted ten times
// a second and off by a part of what was left. One band in ten is too narrow.
func lived(n int, off float64) LiveRun {
	r := LiveRun{N: n, Load: "PlanetLab (recorded)", Program: burnName, Argv: []string{"burn", "4"}, Steps: n%2 == 1,
		Took: 8, Used: 4, Others: 3.5, Foreign: 0.1, Steal: 0.05}
	for i := 1; i < 80; i++ {
		at := float64(i) / 10
		left := 8 - at
		mid := at + left*(1+off)
		p := LivePoint{At: at, CPU: at / 2, Share: 0.5, Need: 4, Early: at + left*0.5, Mid: mid, Late: at + left*1.5}
		if n%10 == 0 {
			p.Early = mid
		}
		r.Points = append(r.Points, p)
	}
	return r
}

func TestALiveRunIsJudgedAsASimulatedOne(t *testing.T) {
	r := lived(1, 0.2)
	list := r.JudgedPredictions()
	if len(list) != len(calibration.Moments) {
		t.Fatalf("%d predictions judged", len(list))
	}
	for i, j := range list {
		at := 8 - j.Actual
		if first := calibration.Moments[i] * 8; at < first || at > first+0.1 {
			t.Errorf("moment %.2f judged at %.2f s", calibration.Moments[i], at)
		}
		if math.Abs(j.Error()-0.2) > 1e-9 || math.Abs(j.AsNow-j.Actual) > 1e-9 || j.Low >= j.Actual || j.High <= j.Actual {
			t.Errorf("%+v", j)
		}
	}
	known := r.NeedKnown()
	if len(known) != len(list) || known[0].Run != list[0].Run || known[0].Error() > 0.1 {
		t.Errorf("with its need known: %+v", known)
	}
}

func TestLoadsTakeTurnsByTheirParts(t *testing.T) {
	kinds, _, _ := loads.CalibrationLoads(t.TempDir(), true)
	kinds = changingLoads(kinds)
	counts := map[string]int{}
	for n := range 24 {
		counts[kinds[inTurn(kinds, n)].Name]++
	}
	want := map[string]int{"competing (generated)": 8, "stairs (generated)": 4, "wavering (generated)": 8,
		"drifting (generated)": 4}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Error(diff)
	}
}

func TestLiveRunsAreKeptLineByLine(t *testing.T) {
	l := LivePlan{Runs: 4, Length: time.Second, Sample: 100 * time.Millisecond,
		File: filepath.Join(t.TempDir(), "new", "live.jsonl")}
	f, had, err := openLive(&l)
	if err != nil || len(had) != 0 {
		t.Fatal(had, err)
	}
	for _, n := range []int{0, 2} {
		r := lived(n, 0)
		if err := f.addRun(&r); err != nil {
			t.Fatal(err)
		}
	}
	// Killed in the middle of a line.
	if _, err := f.f.WriteString(`{"N":3,"Took":`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := ReadLive(l.File)
	if err != nil || len(r.Runs) != 2 || r.Runs[1].N != 2 || len(r.Runs[1].Points) != 79 {
		t.Fatalf("%v, %v", r, err)
	}
	l.Continue = true
	f, had, err = openLive(&l)
	if err != nil || !had[0] || had[1] || !had[2] || len(had) != 2 {
		t.Fatal(had, err)
	}
	three := lived(3, 0)
	if err := errors.Join(f.addRun(&three), f.Close()); err != nil {
		t.Fatal(err)
	}
	if r, err := ReadLive(l.File); err != nil || len(r.Runs) != 3 {
		t.Errorf("%v", err)
	}
	l.Length++
	if _, _, err := openLive(&l); !badinput.Is(err) || !strings.Contains(err.Error(), "--continue") {
		t.Errorf("runs of another length stand beside them: %v", err)
	}
}

func FuzzParseLive(f *testing.F) {
	f.Add([]byte("{\"Plan\":{\"Runs\":1}}\n{\"N\":0,\"Took\":1}\n"))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseLive(bytes.NewReader(data))
		if err != nil {
			return
		}
		for i := range r.Runs {
			if !(r.Runs[i].Took > 0) {
				t.Errorf("took %v", r.Runs[i].Took)
			}
			r.Runs[i].JudgedPredictions()
		}
	})
}

func TestTimesOfAProcessorAreRead(t *testing.T) {
	const stat = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 100 200 300 1000 50 10 20 70 0 0\ncpu1 1 1 1 1 1 1 1 x 0 0\n"
	if p, err := parseStat(stat, 0); err != nil || math.Abs(p.busy-6.3) > 1e-9 || p.steal != 0.7 {
		t.Errorf("%+v, %v", p, err)
	}
	for _, cpu := range []int{1, 2} {
		if p, err := parseStat(stat, cpu); err == nil {
			t.Errorf("processor %d: %+v", cpu, p)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("cpu0 100 200 300 1000 50 10 20 70 0 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := parseStat(text, 0); err == nil && !(p.busy >= 0 && p.steal >= 0) {
			t.Errorf("%+v", p)
		}
	})
}

// livePlan is a short one with the programs of the tests.
func livePlan(t *testing.T) Plan {
	t.Helper()
	p := DefaultPlan()
	p.Parts, p.Jobs, p.Agent = "e", examples(t), []string{self(t), "agent"}
	p.Live = LivePlan{Runs: 2, AtOnce: 2, Length: time.Second, Sample: 100 * time.Millisecond, Learn: 1,
		Programs: []string{burnName},
		Records:  t.TempDir(), File: filepath.Join(t.TempDir(), "live.jsonl"), Spinner: []string{self(t), "spin"}}
	return p
}

func TestRealRunsUnderChangingLoadAreJudgedAndKept(t *testing.T) {
	var out bytes.Buffer
	var p Plan
	var r *Results
	silent := func(run LiveRun) bool { return len(run.Points) == 0 }
	for length := time.Second; ; length *= 3 {
		p = livePlan(t)
		p.Out, p.Live.Length = &out, length
		var err error
		r, err = p.MeasureAll(t.Context())
		t.Log(out.String())
		if err != nil {
			t.Fatal(err)
		}
		// Where the machine is busy one may be over before anything is said of it.
		if length > 5*time.Second || !slices.ContainsFunc(r.Live.Runs, silent) {
			break
		}
	}
	if len(r.Live.Runs) != 2 || len(r.Judged) == 0 || r.Live.Runs[0].N == r.Live.Runs[1].N ||
		r.Live.Runs[0].CPU == r.Live.Runs[1].CPU {
		t.Fatalf("%d live runs, %d predictions simulated", len(r.Live.Runs), len(r.Judged))
	}
	for i := range r.Live.Runs {
		run := &r.Live.Runs[i]
		if run.Used <= 0 || run.Took < 0.9*run.Used || len(run.Points) == 0 || run.Points[0].Need <= 0 {
			t.Errorf("%+v", run)
		}
	}
	dir := t.TempDir()
	path, err := r.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "2 real runs of burn") {
		t.Errorf("%v", err)
	}
	// All are there: none is made again.
	out.Reset()
	p.Live.Continue = true
	if again, err := p.MeasureAll(t.Context()); err != nil || len(again.Live.Runs) != 2 ||
		strings.Contains(out.String(), "run 1") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestWhoInterruptsTheCalibrationKeepsWhatIsDone(t *testing.T) {
	p := livePlan(t)
	p.Live.Runs, p.Live.AtOnce = 50, 1
	ctx, cancel := context.WithCancel(t.Context())
	p.Out = writerFunc(func(b []byte) {
		if bytes.Contains(b, []byte("run 1 of 50")) {
			cancel()
		}
	})
	r, err := p.MeasureAll(ctx)
	if !errors.Is(err, context.Canceled) || r == nil || len(r.Judged) == 0 || !strings.Contains(err.Error(), p.Live.File) {
		t.Fatalf("%v", err)
	}
	live, err := ReadLive(p.Live.File)
	if err != nil || len(live.Runs) != 1 {
		t.Errorf("%v, %v", live, err)
	}
}

type writerFunc func(b []byte)

func (f writerFunc) Write(b []byte) (int, error) {
	f(b)
	return len(b), nil
}
