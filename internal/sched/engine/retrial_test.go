package engine_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
	"github.com/godwit-hpc/godwit/internal/sched/resched"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// loggedStep is a step as a log keeps it: written and read back.
type loggedStep struct {
	At       core.Time
	In       core.Input
	Events   []core.Event
	Commands []core.Command
}

// recorded plays a trial, and returns the steps of which something came after the first so
// many, with the state and the rest of the engine's work at that point.
func recorded(t *rapid.T, tr trial, from int) (r *run, steps []loggedStep, shot []byte, left engine.Unsettled) {
	r = newRun(tr)
	n := 0
	r.keep = func(in *core.Input, out *engine.Output) {
		if n++; n == from {
			var err error
			if shot, err = r.eng.World().EncodeSnapshot(); err != nil {
				t.Fatal(err)
			}
			left = r.eng.Unsettled()
		}
		if n <= from || out.Idle {
			return
		}
		s := loggedStep{r.now, *in, slices.Clone(out.Events), slices.Clone(out.Commands)}
		if text, err := json.Marshal(s); err == nil { // some programs tell what is no number, which brokers refuse
			s = loggedStep{}
			if err := json.Unmarshal(text, &s); err != nil {
				t.Fatal(err)
			}
		}
		steps = append(steps, s)
	}
	if err := r.play(); err != nil {
		t.Fatalf("%v: %v", tr, err)
	}
	return r, steps, shot, left
}

// From any moment on, the state, what the engine had left to look at, and the inputs of
// which something came give the same decisions: nothing else counts.
func TestALoggedStepIsDecidedTheSameAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTrial(t)
		r, steps, shot, left := recorded(t, tr, rapid.IntRange(1, 60*tr.jobs).Draw(t, "from step"))
		w, err := world.RestoreSnapshot(r.outside.spec, shot)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(left)
		if err != nil {
			t.Fatal(err)
		}
		var back engine.Unsettled
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		again := engine.RetrialOn(w)
		if err := again.BeginEngine(r.cfg, &back); err != nil {
			t.Fatal(err)
		}
		for i := range steps {
			s := &steps[i]
			d, err := again.CheckStep(s.At, &s.In, s.Events, s.Commands)
			if err != nil || d != nil {
				t.Fatalf("%v: step %d of %d, %+v: %+v, %v", tr, i, len(steps), s.In, d, err)
			}
		}
		if a, b := r.eng.World().AppendState(nil), w.AppendState(nil); !bytes.Equal(a, b) {
			t.Fatalf("%v: the world is\n%s\nand decided again\n%s", tr, a, b)
		}
	})
}

func TestADecisionThatIsNotTheSameIsTold(t *testing.T) {
	again, err := engine.NewRetrial(core.WorstFit, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.BeginEngine(engine.DefaultConfig(), nil); err != nil {
		t.Fatal(err)
	}
	grid := &core.ClusterSpec{Name: "a", Hosts: []core.HostSpec{{Procs: 2, Speed: 1}}}
	define := core.Input{Kind: core.DefineCluster, Grid: grid}
	d, err := again.CheckStep(5, &define, []core.Event{{At: 5, Kind: core.ClusterDefined, Grid: grid}}, nil)
	if err != nil || d != nil {
		t.Fatalf("%+v, %v", d, err)
	}
	submit := core.Input{Kind: core.Submit, Job: 7, Spec: &core.Job{ID: 7, Components: []core.Component{{Min: 1, Max: 1}}}}
	d, err = again.CheckStep(6, &submit, []core.Event{{At: 6, Kind: core.JobSubmitted, Job: 7, Spec: submit.Spec,
		Why: core.Reason{Code: core.SubmittedByUser}}, {At: 6, Kind: core.JobEnqueued, Job: 7, N: 1}}, nil)
	if err != nil || d == nil || d.Job != 7 || d.At != 6 || !strings.Contains(d.Logged, "job-enqueued") ||
		!strings.Contains(d.Decided, "part-planned") {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestSettingsComeBackFromTheirText(t *testing.T) {
	for _, name := range append(malleable.PolicyNames(), "none") {
		cfg := engine.Config{Approach: engine.PWA, Malleable: malleable.ByName(name),
			Resched: resched.Config{MaxMoves: 3, MinGain: 0.2, MinEarlier: 0.3, Rest: 4, RestCosts: 5}}
		v := reflect.ValueOf(&cfg).Elem()
		for i := range v.NumField() { // so that a new one is not forgotten
			switch f := v.Field(i); f.Kind() {
			case reflect.Int64:
				f.SetInt(int64(time.Duration(i+1) * time.Second))
			case reflect.Bool:
				f.SetBool(true)
			case reflect.Uint8, reflect.Interface, reflect.Struct: // set above
			default:
				t.Fatalf("%s is of a kind that is not tried", v.Type().Field(i).Name)
			}
		}
		text, err := json.Marshal(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var back engine.Config
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(cfg, back) {
			t.Errorf("%+v came back as %+v from %s", cfg, back, text)
		}
	}
	for _, bad := range []string{`{"approach":"pra","malleable":"best"}`, `{"approach":"later","malleable":"none"}`,
		`{"approach":"pra","malleable":"none","scan_every":"-3s"}`} {
		var cfg engine.Config
		if err := json.Unmarshal([]byte(bad), &cfg); err == nil {
			t.Errorf("%s was read as %+v", bad, cfg)
		}
	}
	if !slices.Contains(malleable.PolicyNames(), "egs") {
		t.Error("no policy was tried")
	}
}
