package runlog_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
	"github.com/godwit-hpc/godwit/internal/sim/runlog"
	"github.com/godwit-hpc/godwit/internal/sim/scenario"
	"github.com/godwit-hpc/godwit/internal/sim/trial"
)

// small is a grid in which everything happens: growing, shrinking, refusals,
// jobs in two clusters, files that must be brought, others who take processors, hosts that fail.
const small = `
platform:
  clusters:
    - {name: a, hosts: 12, reserve: true}
    - {name: b, hosts: [{name: b1, cores: 4, speed: 2}, {name: b2, cores: 4, speed: 1}]}
  links:
    - {a: a, b: b, mbps: 100, ms: 1}
  files:
    - {name: sky.dat, size: 10M, at: [a]}
workload:
  jobs: %d
  every: 20s
  apps:
    - {name: n-body, min: 2, max: 10, time: {2: 300, 4: 180, 8: 100}, inputs: [sky.dat]}
    - {name: fft, min: 2, max: 8, time: {2: 120, 4: 70, 8: 50}, accept: powers-of-two}
    - name: coupled
      work: 4m
      speedup: linear
      components: [{min: 1, max: 4, inputs: [sky.dat]}, {min: 1, max: 3, clusters: [b]}]
  kinds: {malleable: 3, moldable: 1, rigid: 1}
  retries: 1
background:
  - {cluster: a, poisson: 3m, procs: [1, 4], run: [30s, 4m]}
failures:
  - {cluster: b, hosts: [b2], at: 5m, for: 4m}
`

// queued is small where cluster a has a queue of its own, in which jobs grow by holding jobs.
var queued = strings.Replace(small, "hosts: 12,", "hosts: 12, local: easy, queue: 3,", 1)

func setup(t testing.TB, jobs int, approach engine.Approach, policy string) *trial.Setup {
	t.Helper()
	return setupOf(t, small, jobs, approach, policy)
}

func setupOf(t testing.TB, scene string, jobs int, approach engine.Approach, policy string) *trial.Setup {
	t.Helper()
	s, err := scenario.Parse("small.yaml", fmt.Appendf(nil, scene, jobs), nil)
	if err != nil {
		t.Fatal(err)
	}
	set := trial.FromScenario(s)
	set.Policy.Approach, set.Policy.Malleable = approach, policy
	return set
}

// logOf runs the scenario and returns its log and its results.
func logOf(t testing.TB, set *trial.Setup, compress bool) ([]byte, *trial.Result) {
	t.Helper()
	var log bytes.Buffer
	r, err := set.Run(context.Background(), trial.Options{Log: &log, Compress: compress, Series: true})
	if err != nil {
		t.Fatal(err)
	}
	return log.Bytes(), r
}

func csv(t testing.TB, r *trial.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Outcome.WriteCSV(&b, r.Names); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAReplayGivesTheResultsOfTheRunAndTheSameDecisions(t *testing.T) {
	for _, approach := range []engine.Approach{engine.PRA, engine.PWA} {
		for _, policy := range append(malleable.PolicyNames(), runlog.None) {
			t.Run(approach.String()+"/"+policy, func(t *testing.T) {
				checkReplay(t, setup(t, 60, approach, policy), policy == "egs")
				log := checkReplay(t, setupOf(t, queued, 60, approach, policy), false)
				grows := bytes.Contains(log, []byte(`"kind":"part-accepted"`))
				if wanted := policy != runlog.None; grows != wanted {
					t.Errorf("jobs in the queue of a cluster grow: %v, want %v", grows, wanted)
				}
			})
		}
	}
}

// checkReplay runs a scenario and compares what a replay of its log gives.
func checkReplay(t *testing.T, set *trial.Setup, compress bool) []byte {
	t.Helper()
	log, ran := logOf(t, set, compress)
	again, report, err := trial.ReplayLog(context.Background(), bytes.NewReader(log), "run.log",
		trial.Options{Series: true})
	if err != nil {
		t.Fatal(err)
	}
	if report.Events != ran.Summary.Events || report.Steps == 0 {
		t.Errorf("verified %+v of %d events", report, ran.Summary.Events)
	}
	if diff := cmp.Diff(ran.Summary, again.Summary); diff != "" {
		t.Errorf("summary (-run +replay):\n%s", diff)
	}
	if diff := cmp.Diff(ran.About, again.About); diff != "" {
		t.Errorf("about (-run +replay):\n%s", diff)
	}
	if diff := cmp.Diff(csv(t, ran), csv(t, again)); diff != "" {
		t.Errorf("CSV (-run +replay):\n%s", diff)
	}
	if !reflect.DeepEqual(ran.Outcome.Series(), again.Outcome.Series()) {
		t.Error("the series differ")
	}
	return log
}

func TestTheSameRunGivesTheSameLog(t *testing.T) {
	one, _ := logOf(t, setup(t, 30, engine.PWA, "marginal"), false)
	two, _ := logOf(t, setup(t, 30, engine.PWA, "marginal"), false)
	if !bytes.Equal(one, two) {
		t.Error("two runs of one setup give different logs")
	}
}

func replay(log []byte) error {
	_, _, err := trial.ReplayLog(context.Background(), bytes.NewReader(log), "run.log", trial.Options{})
	return err
}

func TestALogThatBreaksOffIsRefused(t *testing.T) {
	plain, _ := logOf(t, setup(t, 10, engine.PWA, "egs"), false)
	for _, cut := range []int{0, 1, len(plain) / 3, len(plain) / 2, len(plain) - 2, len(plain) - 1} {
		var bad *badinput.Error
		if err := replay(plain[:cut]); !errors.As(err, &bad) {
			t.Errorf("cut after %d of %d bytes: got %v, want a badinput.Error", cut, len(plain), err)
		}
	}
	lines := bytes.SplitAfter(plain, []byte("\n"))
	for _, keep := range []int{1, 2, len(lines) / 2, len(lines) - 2} { // the last element is empty
		err := replay(bytes.Join(lines[:keep], nil))
		var bad *badinput.Error
		if !errors.As(err, &bad) || bad.Line != keep {
			t.Errorf("%d of %d lines: got %v, want a badinput.Error in line %d", keep, len(lines)-1, err, keep)
		}
	}
}

func TestATruncatedGzipLogIsRefused(t *testing.T) {
	packed, _ := logOf(t, setup(t, 10, engine.PWA, "egs"), true)
	for _, cut := range []int{5, len(packed) / 2, len(packed) - 4} {
		if err := replay(packed[:cut]); !badinput.Is(err) {
			t.Errorf("cut after %d of %d bytes: got %v, want a badinput.Error", cut, len(packed), err)
		}
	}
}

// TestAnEditedLogIsRefused changes one thing at a time, in the first line in
// which it stands.
func TestAnEditedLogIsRefused(t *testing.T) {
	log, _ := logOf(t, setup(t, 20, engine.PWA, "egs"), false)
	for name, edit := range map[string]struct {
		old, new string
		differs  bool // the engine decides differently; else the log cannot be
	}{
		"another input":               {`"in":{"kind":"ended","job":1`, `"in":{"kind":"ended","job":2`, true},
		"an event left out":           {`"kind":"job-enqueued"`, `"kind":"queue-scanned"`, true},
		"an impossible state":         {`"to":"RUNNING"`, `"to":"DONE"`, false},
		"an unknown event":            {`"kind":"part-planned"`, `"kind":"part-planed"`, false},
		"an unknown field":            {`"in":`, `"input":`, false},
		"processors held twice":       {`"procs":[{"Lo":0`, `"procs":[{"Lo":-1`, false},
		"another policy":              {`"malleable":"egs","scan`, `"malleable":"fpsma","scan`, true},
		"an unknown policy":           {`"malleable":"egs","scan`, `"malleable":"best","scan`, false},
		"another format":              {`"format":"godwit-run-log"`, `"format":"log"`, false},
		"a newer version":             {`"version":1`, `"version":2`, false},
		"a grid without processors":   {`"procs":1`, `"procs":0`, false},
		"a grid beyond all memory":    {`"count":12`, `"count":1200000000`, false},
		"a job out of order":          {`"spec":{"ID":2`, `"spec":{"ID":3`, false},
		"a job of negative size":      {`"Min":2,"Max":`, `"Min":-2,"Max":`, false},
		"a job of a billion":          {`"Min":2,"Max":10`, `"Min":2,"Max":10000000000`, false},
		"a wrong count at the end":    {`{"end":{"steps":`, `{"end":{"steps":1`, false},
		"text where a number belongs": {`"at":20000000000`, `"at":"soon"`, false},
		"time that goes back":         {`"at":40000000000`, `"at":10000000000`, false},
	} {
		t.Run(name, func(t *testing.T) {
			edited := strings.Replace(string(log), edit.old, edit.new, 1)
			if edited == string(log) {
				t.Fatalf("the log has no %s", edit.old)
			}
			err := replay([]byte(edited))
			var differs *runlog.DifferenceError
			switch {
			case edit.differs && !errors.As(err, &differs):
				t.Errorf("got %v, want a DifferenceError", err)
			case !edit.differs && !badinput.Is(err):
				t.Errorf("got %v, want a badinput.Error", err)
			case strings.Contains(err.Error(), "\n"):
				t.Errorf("more than one line: %v", err)
			}
		})
	}
}

func TestAnythingAfterTheLastLineIsRefused(t *testing.T) {
	log, _ := logOf(t, setup(t, 5, engine.PWA, "egs"), false)
	if err := replay(append(bytes.Clone(log), "{}\n"...)); !badinput.Is(err) {
		t.Errorf("got %v, want a badinput.Error", err)
	}
}

func TestEveryChoiceOfAnOperatorIsInTheHeader(t *testing.T) {
	known := map[string]bool{"Approach": true, "Malleable": true, "ScanEvery": true, "ShrinkGrace": true, "GrowGrace": true,
		"StopGrace": true, "ClaimGrace": true, "ClaimMargin": true, "Resched": true,
		"CollectGrace": true, "RetryPause": true, "Whole": true, "Describes": true, "DescribeEvery": true,
		"ResultsAtEnd": true}
	for f := range reflect.TypeFor[engine.Config]().Fields() {
		if !known[f.Name] {
			t.Errorf("engine.Config.%s is not logged: a replay would decide differently", f.Name)
		}
	}
}

func unpacked(t testing.TB, packed []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func TestACompressedLogIsTheSameLog(t *testing.T) {
	plain, _ := logOf(t, setup(t, 10, engine.PRA, "fold"), false)
	packed, _ := logOf(t, setup(t, 10, engine.PRA, "fold"), true)
	if !bytes.Equal(plain, unpacked(t, packed)) {
		t.Error("the compressed log says something else")
	}
}
