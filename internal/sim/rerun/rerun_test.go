package rerun_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/brokerlog"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sim/rerun"
)

// recorder is an engine whose steps are written down as a live broker exports them.
type recorder struct {
	testing.TB
	eng   *engine.Engine
	now   core.Time
	count uint64 // events
	lines []brokerlog.Line
}

func (r *recorder) begin(cfg engine.Config) {
	text, err := json.Marshal(cfg)
	if err != nil {
		r.Fatal(err)
	}
	r.lines = append(r.lines, brokerlog.Line{Began: &brokerlog.Began{Engine: text}})
}

// restart has another engine go on from the state as it is.
func (r *recorder) restart() {
	state, err := r.eng.EncodeSnapshot()
	if err != nil {
		r.Fatal(err)
	}
	if r.eng, err = engine.Restore(engine.DefaultConfig(), core.DeadlineFirst, state, nil); err != nil {
		r.Fatal(err)
	}
	r.begin(engine.DefaultConfig())
}

func (r *recorder) tell(in core.Input) {
	r.now = r.now.Add(time.Second)
	out := r.eng.Step(r.now, &in)
	s := &brokerlog.Step{At: r.now, In: in, Events: append([]core.Event(nil), out.Events...),
		Commands: append([]core.Command(nil), out.Commands...)}
	r.count += uint64(len(s.Events))
	r.lines = append(r.lines, brokerlog.Line{Step: s})
}

func (r *recorder) file(start brokerlog.Start, lines []brokerlog.Line) []byte {
	var b bytes.Buffer
	w, err := brokerlog.NewWriter(json.NewEncoder(&b).Encode, brokerlog.Header{})
	all := append([]brokerlog.Line{{Job: &brokerlog.Job{ID: 1, State: core.Done}}, {Start: &start}}, lines...)
	for i := range all {
		err = errors.Join(err, w.WriteLine(&all[i]))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		r.Fatal(err)
	}
	return b.Bytes()
}

// recorded is the log of a small life: two clusters, four jobs, two of which wait; and the log
// from a snapshot on that was taken half-way.
func recorded(t testing.TB) (whole, fromSnapshot []byte) {
	eng, err := engine.FromEvents(engine.DefaultConfig(), core.DeadlineFirst, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{TB: t, eng: eng, now: core.AtSecond(1.7e9)}
	r.begin(engine.DefaultConfig())
	for i, name := range []string{"a", "b"} {
		r.tell(core.Input{Kind: core.DefineCluster, Cluster: core.ClusterID(i),
			Grid: &core.ClusterSpec{Name: name, Hosts: []core.HostSpec{{Procs: 1, Speed: 1}}}})
	}
	r.tell(core.Input{Kind: core.Felt, Cluster: 1, Reachable: true, Share: 0.5})
	for id := core.JobID(1); id <= 4; id++ {
		r.tell(core.Input{Kind: core.Submit, Job: id,
			Spec: &core.Job{ID: id, Components: []core.Component{{Min: 1, Max: 1}}}})
	}
	r.tell(core.Input{Kind: core.Started, Job: 1, Epoch: 1})
	left, err := json.Marshal(r.eng.Unsettled())
	if err != nil {
		t.Fatal(err)
	}
	settings, err := json.Marshal(engine.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	state, err := r.eng.EncodeSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	r.lines = append(r.lines, brokerlog.Line{Left: &brokerlog.Left{After: r.count, Engine: settings, Unsettled: left}})
	half, after := len(r.lines)-1, r.count
	r.tell(core.Input{Kind: core.Ended, Job: 1, Epoch: 1})
	r.restart()
	r.tell(core.Input{Kind: core.Started, Job: 2, Epoch: 1})
	r.tell(core.Input{Kind: core.Cancel, Job: 2})
	r.tell(core.Input{Kind: core.Tick})
	return r.file(brokerlog.Start{Place: core.DeadlineFirst}, r.lines),
		r.file(brokerlog.Start{After: after, Place: core.DeadlineFirst, Snapshot: state}, r.lines[half:])
}

func replay(log []byte) (rerun.Report, error) {
	return rerun.ReadLog(context.Background(), bytes.NewReader(log), "live.jsonl", nil)
}

func TestTheDecisionsOfABrokerAreTakenAgain(t *testing.T) {
	whole, part := recorded(t)
	r, err := replay(whole)
	if err != nil || r.Jobs != 4 || r.Decisions < 9 || r.Brokers != 2 || r.Steps < r.Decisions || r.Unknown != 0 ||
		r.Commands < 3 || r.To.Sub(r.From) < 9*time.Second {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = replay(part)
	if err != nil || r.Decisions < 2 || r.Brokers != 1 {
		t.Errorf("from a snapshot on: %+v, %v", r, err)
	}
}

func TestTheFirstDecisionThatIsNotTheSameIsTold(t *testing.T) {
	whole, _ := recorded(t)
	for name, edit := range map[string]struct{ old, new, want string }{
		"an event": {`"kind":"job-enqueued"`, `"kind":"job-released"`, "job 3, at 2023-11-14 22:13:"},
		"an input": {`"in":{"kind":"ended","job":1`, `"in":{"kind":"ended","job":2`, "job 1, at 2023-11-14 22:13:"},
		"a command": {`"commands":[{"kind":"start","job":1,`, `"commands":[{"kind":"start","job":9,`,
			"job 9, at 2023-11-14 22:13:"},
	} {
		edited := strings.Replace(string(whole), edit.old, edit.new, 1)
		if edited == string(whole) {
			t.Fatalf("%s: the log has no %s", name, edit.old)
		}
		_, err := replay([]byte(edited))
		var differs *rerun.DifferenceError
		if !errors.As(err, &differs) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), edit.want) ||
			!strings.Contains(err.Error(), ": the live broker decided ") ||
			!strings.Contains(err.Error(), ", the replay decides ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestALogThatCannotBeIsRefused(t *testing.T) {
	whole, part := recorded(t)
	for name, edit := range map[string]struct{ old, new string }{
		"another policy": {`"malleable":"marginal"`, `"malleable":"best"`},
		"no beginning":   {`{"start":`, `{"event":`},
		"a grid beyond memory": {`"in":{"kind":"define-cluster","grid":{"name":"a","hosts":[{"procs":1`,
			`"in":{"kind":"define-cluster","grid":{"name":"a","hosts":[{"procs":1000000000`},
		"the jobs of one alone": {`"clusters":null`, `"user":"ann","clusters":null`},
	} {
		edited := strings.Replace(string(whole), edit.old, edit.new, 1)
		if _, err := replay([]byte(edited)); edited == string(whole) || !badinput.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	damaged := bytes.Replace(part, []byte(`"snapshot":"Z29kd2l0`), []byte(`"snapshot":"Z29kd2l1`), 1)
	if _, err := replay(damaged); bytes.Equal(damaged, part) || !badinput.Is(err) {
		t.Errorf("a damaged snapshot: %v", err)
	}
}

func TestALogWithWrongDigitsIsNeverMoreThanAnError(t *testing.T) {
	whole, part := recorded(t)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 1000 {
		edited := bytes.Clone(whole)
		if i%2 == 0 {
			edited = bytes.Clone(part)
		}
		for range 1 + random.IntN(3) {
			at := random.IntN(len(edited))
			at += max(0, bytes.IndexAny(edited[at:], "0123456789"))
			if edited[at] >= '0' && edited[at] <= '9' {
				edited[at] = '0' + byte(random.IntN(10))
			}
		}
		checkError(t, edited)
	}
}

func checkError(t *testing.T, log []byte) {
	t.Helper()
	_, err := replay(log)
	var differs *rerun.DifferenceError
	if err != nil && (!badinput.Is(err) && !errors.As(err, &differs) || strings.Contains(err.Error(), "\n")) {
		t.Errorf("an error of another kind: %v", err)
	}
}

// FuzzReadLog: whatever a file says, all is the same, or one line says what is wrong.
func FuzzReadLog(f *testing.F) {
	whole, part := recorded(f)
	f.Add(whole)
	f.Add(part)
	f.Add(whole[:len(whole)/2])
	f.Add(bytes.ReplaceAll(whole, []byte(`"kind":"started"`), []byte(`"kind":"crashed"`)))
	f.Fuzz(func(t *testing.T, log []byte) { checkError(t, log) })
}
