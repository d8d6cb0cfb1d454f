package workflow

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func noSuchFlow(ref string) error {
	return &badinput.Error{Problem: "no such workflow: " + ref + " (godwit flow ps --all lists all workflows)"}
}

// keyRef is how a workflow is asked for by its key.
const keyRef = "key:"

// find is the number of a workflow that who asks may see: by its number, the key that they
// submitted it with, its name, or last.
func (s *Service) find(ctx context.Context, ref string) (int64, error) {
	owner, err := s.Broker.RequestUser(ctx)
	if err != nil {
		return 0, err
	}
	if id, err := strconv.ParseInt(ref, 10, 64); err == nil {
		rec, err := s.Store.FindFlow(ctx, id)
		if errors.Is(err, store.ErrNoFlow) || err == nil && owner.ID != 0 && rec.Owner != owner.ID {
			return 0, noSuchFlow(ref)
		}
		return id, err
	}
	filter := store.FlowFilter{Owner: owner.ID}
	if key, ok := strings.CutPrefix(ref, keyRef); ok {
		filter.Key = key
	}
	own, err := s.Store.ListFlows(ctx, filter)
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(own, func(f store.Flow) bool { return filter.Key != "" || ref == "last" || f.Name == ref })
	if i < 0 {
		return 0, noSuchFlow(ref)
	}
	return own[i].ID, nil
}

// ListFlows lists the workflows of who asks, or of all users, newest first: those that are not
// over and the last few, or all.
func (s *Service) ListFlows(ctx context.Context, all, users bool) ([]api.Flow, error) {
	const few = 20
	owner, err := s.Broker.RequestUser(ctx)
	if err != nil {
		return nil, err
	}
	if users && owner.ID != 0 {
		return nil, &badinput.Error{Field: "--all-users", Problem: "only root sees the workflows of others"}
	}
	filter := store.FlowFilter{Owner: owner.ID, AllOwners: users}
	if !all {
		filter.Limit = few
	}
	recs, err := s.Store.ListFlows(ctx, filter)
	if err == nil && !all {
		filter.Limit, filter.Open = 0, true
		var open []store.Flow
		open, err = s.Store.ListFlows(ctx, filter)
		recs = append(recs, open...)
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(recs, func(a, b store.Flow) int { return cmp.Compare(b.ID, a.ID) })
	recs = slices.CompactFunc(recs, func(a, b store.Flow) bool { return a.ID == b.ID })
	list := make([]api.Flow, 0, len(recs))
	for i := range recs {
		if l := s.liveFlow(recs[i].ID); l != nil {
			f := l.view()
			f.Kinds = nil
			list = append(list, f)
		} else {
			list = append(list, viewOf(&recs[i], nil, outlook{}))
		}
	}
	return list, nil
}

// GetFlow is one workflow.
func (s *Service) GetFlow(ctx context.Context, ref string) (api.Flow, error) {
	id, err := s.find(ctx, ref)
	if err != nil {
		return api.Flow{}, err
	}
	return s.getFlow(ctx, id)
}

func (s *Service) getFlow(ctx context.Context, id int64) (api.Flow, error) {
	if l := s.liveFlow(id); l != nil {
		return l.view(), nil
	}
	rec, tasks, spec, err := s.stored(ctx, id)
	if err != nil {
		return api.Flow{}, err
	}
	f := viewOf(rec, tasks, outlook{})
	f.Kinds = kindsOf(spec, tasks)
	return f, nil
}

// stored is a workflow as it is in the store.
func (s *Service) stored(ctx context.Context, id int64) (*store.Flow, []store.FlowTask, *api.FlowSubmit, error) {
	rec, err := s.Store.FindFlow(ctx, id)
	if err != nil {
		return nil, nil, nil, err
	}
	spec, err := decodeSpec(rec.Spec)
	if err != nil {
		return nil, nil, nil, err
	}
	tasks, err := s.Store.ListFlowTasks(ctx, id)
	return rec, tasks, spec, err
}

// view is the workflow as it is in the store: nobody is told what a crash could undo.
func (l *liveFlow) view() api.Flow {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := viewOf(&l.stored, l.durable, l.outlook)
	f.Kinds = kindsOf(l.spec, l.durable)
	return f
}

// viewOf is a workflow as the surface has it, without the kinds of its tasks.
func viewOf(rec *store.Flow, tasks []store.FlowTask, o outlook) api.Flow {
	f := api.Flow{ID: rec.ID, User: rec.User, Name: rec.Name, State: string(rec.State), Why: rec.Why,
		Submitted: api.TimeAt(rec.Submitted), Ended: api.TimeAt(rec.Ended), Tasks: rec.Tasks, Done: rec.Done,
		Failed:       rec.Failed,
		PredictedEnd: api.TimeAt(o.end), EndEarly: api.TimeAt(o.early), EndLate: api.TimeAt(o.late),
		PlannedS: rec.Planned, LowerBoundS: rec.Bound, Heuristic: rec.Heuristic, Replans: rec.Replans}
	for i := range tasks {
		if isLive(&tasks[i]) && !rec.State.IsOver() {
			f.Running++
		}
	}
	return f
}

// isLive tells whether the job of a task has been submitted and has not ended.
func isLive(t *store.FlowTask) bool {
	return t.Job != 0 && t.Try > t.Forgiven && !t.Done && !t.Failed && !t.State.IsTerminal()
}

// kindsOf counts the tasks of each kind.
func kindsOf(spec *api.FlowSubmit, tasks []store.FlowTask) []api.FlowKind {
	f := &spec.Flow
	kinds := make([]api.FlowKind, len(f.Kinds))
	level := make([]int, len(kinds))
	for k := range kinds {
		kinds[k] = api.FlowKind{Name: f.Kinds[k], Parent: -1, On: map[string]int{}}
	}
	for i := range f.Tasks {
		kinds[f.Tasks[i].Kind].Tasks++
	}
	for i := range tasks {
		t := &tasks[i]
		if t.N < 0 || t.N >= len(f.Tasks) {
			continue
		}
		k := &kinds[f.Tasks[t.N].Kind]
		switch {
		case t.Done:
			k.Done++
		case t.Failed:
			k.Failed++
		case t.Job != 0 && t.State == core.Running:
			k.Running++
			k.On[t.Cluster]++
		}
	}
	// Levels settle after as many rounds as the tree is deep.
	for round, changed := 0, true; changed && round < len(kinds); round++ {
		changed = false
		for _, need := range f.Needs {
			from, to := f.Tasks[need.From].Kind, f.Tasks[need.To].Kind
			if from != to && level[to] < level[from]+1 && level[from] < len(kinds) {
				level[to], kinds[to].Parent, changed = level[from]+1, from, true
			}
		}
	}
	return kinds
}

// ListTasks lists what became of the tasks of a workflow.
func (s *Service) ListTasks(ctx context.Context, ref string) ([]api.FlowTask, error) {
	id, err := s.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	_, tasks, spec, err := s.stored(ctx, id)
	if err != nil {
		return nil, err
	}
	list := make([]api.FlowTask, len(spec.Flow.Tasks))
	for i := range list {
		list[i].Task, list[i].Kind = spec.Flow.Tasks[i].ID, spec.Flow.Tasks[i].Kind
	}
	for i := range tasks {
		t := &tasks[i]
		if t.N < 0 || t.N >= len(list) {
			continue
		}
		x := &list[t.N]
		x.Job, x.Cluster, x.State, x.Try, x.Done, x.Failed, x.Why = t.Job, t.Cluster, t.State, t.Try, t.Done, t.Failed, t.Why
		x.Started, x.Ended = api.TimeAt(t.Started), api.TimeAt(t.Ended)
	}
	return list, nil
}

// ExplainFlow lists what was decided for a workflow, and when it was submitted.
func (s *Service) ExplainFlow(ctx context.Context, ref string) (core.Time, []wire.Entry, error) {
	id, err := s.find(ctx, ref)
	if err != nil {
		return 0, nil, err
	}
	rec, err := s.Store.FindFlow(ctx, id)
	if err != nil {
		return 0, nil, err
	}
	entries, err := s.Store.ListFlowEntries(ctx, id)
	return rec.Submitted, toldEntries(entries), err
}

// CancelFlow ends a workflow: nothing more of it is started, and its jobs are cancelled. It
// returns when none of them is left.
func (s *Service) CancelFlow(ctx context.Context, ref string) (api.Flow, error) {
	id, err := s.find(ctx, ref)
	if err != nil {
		return api.Flow{}, err
	}
	l := s.liveFlow(id)
	if l == nil {
		return s.getFlow(ctx, id)
	}
	if err := s.markCancelled(ctx, l); err != nil {
		return api.Flow{}, err
	}
	l.cancel()
	for {
		next := l.nextChange()
		if s.liveFlow(id) != l {
			return s.getFlow(ctx, id)
		}
		if err := s.waitChange(ctx, next); err != nil {
			return api.Flow{}, err
		}
	}
}

// markCancelled makes durable that a workflow is to be cancelled.
func (s *Service) markCancelled(ctx context.Context, l *liveFlow) error {
	l.committing.Lock()
	defer l.committing.Unlock()
	l.mu.Lock()
	isNew := l.rec.State == store.FlowRunning
	l.mu.Unlock()
	if !isNew {
		return nil
	}
	l.noteEvent(core.FlowEvent{Kind: core.FlowCancelAsked, Why: "cancelled by its user"},
		wire.Entry{At: s.Broker.CurrentTime(), Kind: "cancel",
			Choice: "its jobs are cancelled and nothing more is started", Why: "its user asked for it"})
	// Who asked may leave: what is stored and not known to be would be stored twice.
	return s.commit(context.WithoutCancel(ctx), l)
}

// waitChange waits for a change, for a second at most; an error says that the asker or the
// broker is leaving.
func (s *Service) waitChange(ctx context.Context, next <-chan struct{}) error {
	s.mu.Lock()
	own := s.ctx
	s.mu.Unlock()
	if own == nil {
		return broker.ErrStopped
	}
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-next:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	case <-own.Done():
		return broker.ErrStopped
	}
	return nil
}

// watchPause is the least time between two states that are told.
const watchPause = 100 * time.Millisecond

func afterPause() <-chan struct{} {
	over := make(chan struct{})
	time.AfterFunc(watchPause, func() { close(over) })
	return over
}

// WatchFlow calls see with the state of a workflow whenever it changed, and at least every
// second, with what was decided since, until it is over.
func (s *Service) WatchFlow(ctx context.Context, ref string, see func(f *api.Flow, news []wire.Entry) error) error {
	id, err := s.find(ctx, ref)
	if err != nil {
		return err
	}
	l, told := s.liveFlow(id), 0
	for l != nil {
		next := l.nextChange()
		if s.liveFlow(id) != l {
			break
		}
		f := l.view()
		if f.IsOver() { // it is forgotten in a moment, with all it has to say in the store
			if err := s.waitChange(ctx, next); err != nil {
				return err
			}
			continue
		}
		var news []wire.Entry
		news, told = l.newsSince(told)
		if err := see(&f, news); err != nil {
			return err
		}
		if err := s.waitChange(ctx, next); err != nil {
			return err
		}
		if err := s.waitChange(ctx, afterPause()); err != nil {
			return err
		}
	}
	f, err := s.getFlow(ctx, id)
	if err != nil {
		return err
	}
	var news []wire.Entry
	if l != nil {
		news, _ = l.newsSince(told)
	} else {
		entries, err := s.Store.ListFlowEntries(ctx, id)
		if err != nil {
			return err
		}
		news = toldEntries(entries)
	}
	return see(&f, news)
}
