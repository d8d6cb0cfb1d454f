package workflow

import (
	"encoding/json"
	"testing"

	"github.com/godwit-hpc/godwit/internal/live/flowrun"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
)

// Whatever a request is, it is refused, or can be kept, read back and planned.
func FuzzSubmittedFlow(f *testing.F) {
	good, err := json.Marshal(lineOf("a", "b"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"key":"k","flow":{"name":"n","dir":"/d","kinds":["a"],"tasks":[{"id":"a","kind":0,"job":null}]},` +
		`"moments":{"-1":{},"0":{"by":"2026-01-01T00:00:00Z"}}}`))
	f.Add([]byte(`{"key":"k","flow":{"name":"n","dir":"/d","kinds":["a"],"tasks":[{"id":"a","kind":0,` +
		`"job":{"argv":["x"],"min":1,"max":1,"checkpoint":{}},"on":{"here":-1}}],"needs":[{"from":0,"to":0}]},"routes":[{"latency_s":1e300}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var spec api.FlowSubmit
		if json.Unmarshal(data, &spec) != nil {
			return
		}
		spec.RestoreMoments()
		if checkSpec(&spec) != nil {
			return
		}
		kept, err := json.Marshal(&spec)
		if err != nil {
			t.Fatalf("what was taken in cannot be kept: %v", err)
		}
		// The records of its tasks may be damaged in any way that the store does not notice.
		tasks := []store.FlowTask{{N: -1}, {N: 1 << 30}, {N: len(spec.Flow.Tasks) - 1, Job: 7, Try: 1 << 30, Forgiven: -1}}
		l, err := newLiveFlow(&store.Flow{ID: 1, Key: spec.Key, State: store.FlowRunning, Spec: kept}, tasks)
		if err != nil {
			t.Fatalf("what was kept cannot be read: %v", err)
		}
		if err := checkSpec(l.spec); err != nil {
			t.Fatalf("what was kept is refused: %v", err)
		}
		l.view()
		if _, _, err := flowrun.BuildDAG(&l.spec.Flow, []flow.Host{{Name: "here", Cores: 2, Speed: 1}}, nil); err != nil {
			t.Fatalf("what was taken in cannot be planned: %v", err)
		}
	})
}
