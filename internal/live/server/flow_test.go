package server

import (
	"errors"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/flowfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// twoTasks is a workflow of two tasks, the second of which waits for the first.
func twoTasks(name string) *api.FlowSubmit {
	f := flowfile.Flow{Name: name, Dir: "/home/" + name, Kinds: []string{"first", "second"},
		Needs: []flowfile.Need{{From: 0, To: 1, Bytes: -1}}}
	for k, id := range f.Kinds {
		f.Tasks = append(f.Tasks, flowfile.Task{ID: id, Kind: k,
			Job: &jobfile.Job{Name: name, Argv: []string{name}, Min: 1, Max: 1}})
	}
	return &api.FlowSubmit{Key: name, Flow: f}
}

func (b *bench) submitFlow(u broker.User, name string) int64 {
	b.Helper()
	done, err := b.clients[u.ID].SubmitFlow(b.Context(), twoTasks(name))
	if err != nil {
		b.Fatal(err)
	}
	return done.ID
}

func TestNobodyTouchesTheWorkflowsOfOthers(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	id := b.submitFlow(alice, secret)
	if again := b.submitFlow(alice, secret); again != id {
		t.Errorf("submitted again with the same key it is workflow %d, and was %d", again, id)
	}
	if other := b.submitFlow(bob, secret); other == id {
		t.Error("with the key of alice bob gets her workflow")
	}
	for _, ref := range []string{"1", "key:" + secret, secret, "last"} {
		f, err := b.clients[alice.ID].GetFlow(ctx, ref)
		if err != nil || f.ID != id || f.User != alice.Name || f.Tasks != 2 || len(f.Kinds) != 2 || f.Kinds[1].Parent != 0 {
			t.Errorf("%s is told to alice as %+v, %v", ref, f, err)
		}
		if f, err := b.clients[bob.ID].GetFlow(ctx, ref); err == nil && f.ID == id {
			t.Errorf("%s is told to bob as %+v", ref, f)
		}
	}
	if _, err := b.clients[bob.ID].CancelFlow(ctx, "1"); !badinput.Is(err) ||
		!strings.Contains(err.Error(), "no such workflow") {
		t.Errorf("bob cancels a workflow of alice: %v", err)
	}
	if list, err := b.clients[bob.ID].ListFlows(ctx, true, false); err != nil || len(list) != 1 || list[0].ID == id {
		t.Errorf("bob sees %+v, %v", list, err)
	}
	if _, err := b.clients[bob.ID].ListFlows(ctx, true, true); !badinput.Is(err) {
		t.Errorf("bob lists the workflows of all: %v", err)
	}
	if list, err := b.clients[root.ID].ListFlows(ctx, true, true); err != nil || len(list) != 2 {
		t.Errorf("root sees %+v, %v", list, err)
	}
	started := errors.New("its first job was submitted")
	if err := b.clients[alice.ID].WatchFlow(ctx, "1", func(l *api.FlowLive) error {
		if l.Flow.Running > 0 {
			return started
		}
		return nil
	}); !errors.Is(err, started) {
		t.Error(err)
	}
	f, err := b.clients[alice.ID].CancelFlow(ctx, "1")
	if err != nil || f.State != "cancelled" || f.Ended == nil {
		t.Errorf("alice cancels her own: %+v, %v", f, err)
	}
	why, err := b.clients[alice.ID].ExplainFlow(ctx, "1")
	kinds := ""
	for _, d := range why {
		kinds += d.Kind + " "
	}
	if err != nil || !strings.HasPrefix(kinds, "submit plan start ") || !strings.HasSuffix(kinds, "cancel end ") {
		t.Errorf("decided was %q, %v", kinds, err)
	}
}

func TestAUserHasNoMoreWorkflowsThanAllowed(t *testing.T) {
	b := newBench(t) // which allows 2, with 5 tasks together
	b.submitFlow(alice, "one")
	large := twoTasks("large")
	for _, id := range []string{"third", "fourth"} {
		large.Flow.Tasks = append(large.Flow.Tasks,
			flowfile.Task{ID: id, Job: &jobfile.Job{Argv: []string{"true"}, Min: 1, Max: 1}})
	}
	if _, err := b.clients[alice.ID].SubmitFlow(t.Context(), large); !badinput.Is(err) ||
		!strings.Contains(err.Error(), "6 tasks") {
		t.Errorf("a workflow with too many tasks: %v", err)
	}
	b.submitFlow(alice, "two")
	if _, err := b.clients[alice.ID].SubmitFlow(t.Context(), twoTasks("three")); !badinput.Is(err) ||
		!strings.Contains(err.Error(), "too many") {
		t.Errorf("a third workflow: %v", err)
	}
	b.submitFlow(bob, "one") // who has none
	if _, err := b.clients[alice.ID].CancelFlow(t.Context(), "one"); err != nil {
		t.Error(err)
	}
	b.submitFlow(alice, "three")
}

func TestAWorkflowThatCannotBeRunIsRefusedAtOnce(t *testing.T) {
	b := newBench(t)
	for want, change := range map[string]func(*api.FlowSubmit){
		"key":           func(s *api.FlowSubmit) { s.Key = "a/b" },
		"absolute":      func(s *api.FlowSubmit) { s.Flow.Dir = "work" },
		"sent before":   func(s *api.FlowSubmit) { s.Work = strings.Repeat("ab", 32) },
		"999 cores":     func(s *api.FlowSubmit) { s.Flow.Tasks[0].Job.Min, s.Flow.Tasks[0].Job.Max = 999, 999 },
		"wait for each": func(s *api.FlowSubmit) { s.Flow.Needs = append(s.Flow.Needs, flowfile.Need{From: 1, To: 0}) },
		"within":        func(s *api.FlowSubmit) { s.Flow.Tasks[0].Outputs = []flowfile.Output{{Name: "../x"}} },
		"two tasks":     func(s *api.FlowSubmit) { s.Flow.Needs[0].To = 7 },
	} {
		s := twoTasks("bad")
		change(s)
		if _, err := b.clients[alice.ID].SubmitFlow(t.Context(), s); !badinput.Is(err) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	if list, err := b.clients[alice.ID].ListFlows(t.Context(), true, false); err != nil || len(list) != 0 {
		t.Errorf("there are %+v, %v", list, err)
	}
}
