package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/flowfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/flowrun"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// SubmitFlow takes in a workflow and returns its number once it is durable. One of a key that
// its owner submitted before is the same; if that is over and was not completed it goes on if
// its user wants that.
func (s *Service) SubmitFlow(ctx context.Context, spec *api.FlowSubmit) (int64, error) {
	owner, err := s.Broker.RequestUser(ctx)
	if err != nil {
		return 0, err
	}
	if err := checkSpec(spec); err != nil {
		return 0, err
	}
	select {
	case <-s.begun:
		if s.beginErr != nil {
			return 0, s.beginErr
		}
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	s.submitting.Lock()
	defer s.submitting.Unlock()
	before, err := s.Store.ListFlows(ctx, store.FlowFilter{Owner: owner.ID, Key: spec.Key})
	if err != nil {
		return 0, err
	}
	if len(before) > 0 && (!before[0].State.IsOver() || before[0].State == store.FlowCompleted || !spec.Resume) {
		return before[0].ID, nil
	}
	if err := s.checkLimits(ctx, owner, len(spec.Flow.Tasks)); err != nil {
		return 0, err
	}
	if err := s.Broker.CheckNewFlow(ctx, spec.Work); err != nil {
		return 0, err
	}
	if err := flowrun.CheckRunnable(broker.WithUser(ctx, owner), &spec.Flow, s.Port(owner, spec.Work)); err != nil {
		return 0, err
	}
	if len(before) > 0 {
		if err := s.untilForgotten(ctx, before[0].ID); err != nil {
			return 0, err
		}
		return s.resume(ctx, &before[0], spec)
	}
	return s.begin(ctx, owner, spec)
}

// untilForgotten waits until nobody carries out a workflow that is over: its last state is
// durable a moment earlier.
func (s *Service) untilForgotten(ctx context.Context, id int64) error {
	for l := s.liveFlow(id); l != nil; l = s.liveFlow(id) {
		next := l.nextChange()
		if s.liveFlow(id) != l {
			continue
		}
		if err := s.waitChange(ctx, next); err != nil {
			return err
		}
	}
	return nil
}

// begin takes in a workflow that was not there before.
func (s *Service) begin(ctx context.Context, owner broker.User, spec *api.FlowSubmit) (int64, error) {
	if s.next == 0 {
		newest, err := s.Store.ListFlows(ctx, store.FlowFilter{AllOwners: true, Limit: 1})
		if err != nil {
			return 0, err
		}
		s.next = 1
		if len(newest) > 0 {
			s.next = newest[0].ID + 1
		}
	}
	rec := store.Flow{ID: s.next, Owner: owner.ID, Key: spec.Key, User: owner.Name, Submitted: s.Broker.CurrentTime()}
	submitted := &core.FlowEvent{Kind: core.FlowSubmitted}
	if spec.Resume { // an earlier version began it, and the broker has its jobs alone
		submitted.N = 1
	}
	rec.ApplyEvent(submitted, nil)
	why := fmt.Sprintf("%d tasks, of which %d wait for others", len(spec.Flow.Tasks), countWaiting(&spec.Flow))
	err := s.takeIn(ctx, &rec, nil, spec, []store.FlowEntry{{Event: submitted,
		Entry: wire.Entry{Kind: "submit", Choice: "accepted", Why: why}}})
	if err == nil {
		s.next++
	}
	return rec.ID, err
}

// countWaiting is how many tasks wait for others.
func countWaiting(f *flowfile.Flow) int {
	waits := map[int]bool{}
	for _, n := range f.Needs {
		waits[n.To] = true
	}
	return len(waits)
}

// resume goes on with a workflow that is over: what is not done, and what made files that are
// gone, is tried again.
func (s *Service) resume(ctx context.Context, before *store.Flow, spec *api.FlowSubmit) (int64, error) {
	old, err := s.Store.FindFlow(ctx, before.ID)
	if err != nil {
		return 0, err
	}
	was, err := decodeSpec(old.Spec)
	if err != nil {
		return 0, err
	}
	if !slices.EqualFunc(was.Flow.Tasks, spec.Flow.Tasks, func(a, b flowfile.Task) bool { return a.ID == b.ID }) {
		return 0, &badinput.Error{Field: "tasks", Want: fmt.Sprintf("those of workflow %d, which is to go on", before.ID)}
	}
	tasks, err := s.Store.ListFlowTasks(ctx, before.ID)
	if err != nil {
		return 0, err
	}
	absent := map[string]bool{}
	for _, name := range spec.Absent {
		absent[name] = true
	}
	rec := *before
	resumed := &core.FlowEvent{Kind: core.FlowResumed}
	rec.ApplyEvent(resumed, nil)
	events := []store.FlowEntry{{Event: resumed}}
	var again []string
	for i := range tasks {
		t := &tasks[i]
		if t.N < 0 || t.N >= len(spec.Flow.Tasks) {
			continue
		}
		task := &spec.Flow.Tasks[t.N]
		if t.Done && !slices.ContainsFunc(task.Outputs, func(o flowfile.Output) bool { return absent[o.Name] }) {
			continue
		}
		if t.Done {
			again = append(again, task.ID)
		}
		forgiven := &core.FlowEvent{Kind: core.TaskForgiven, Task: t.N, Try: t.Try}
		rec.ApplyEvent(forgiven, t)
		events = append(events, store.FlowEntry{Event: forgiven})
	}
	why := "its user had it go on: what is not done is tried again"
	if len(again) > 0 {
		why += ", and " + strings.Join(again[:min(len(again), 10)], ", ") + ", of which results are gone"
	}
	events[0].Entry = wire.Entry{Kind: "resume", Choice: fmt.Sprintf("%d of %d tasks done", rec.Done, rec.Tasks), Why: why}
	return rec.ID, s.takeIn(ctx, &rec, tasks, spec, events)
}

// takeIn makes a workflow durable, with the events that have been applied to it, and has it
// carried out.
func (s *Service) takeIn(ctx context.Context, rec *store.Flow, tasks []store.FlowTask, spec *api.FlowSubmit,
	events []store.FlowEntry) error {
	var err error
	if rec.Spec, err = json.Marshal(spec); err != nil {
		return err
	}
	rec.Name, rec.Work, rec.Tasks = spec.Flow.Name, spec.Work, len(spec.Flow.Tasks)
	l, err := newLiveFlow(rec, tasks)
	if err != nil {
		return err
	}
	l.forgive = rec.Resumed > 0 && len(tasks) == 0
	for i := range events {
		events[i].Flow, events[i].At = rec.ID, s.Broker.CurrentTime()
	}
	if err := s.Broker.CommitFlows(ctx, []store.Flow{*rec}, tasks, events); err != nil {
		return err
	}
	l.news = append(l.news, toldEntries(events)...)
	s.start(l)
	return nil
}

// checkLimits refuses more than one user may have going on.
func (s *Service) checkLimits(ctx context.Context, owner broker.User, tasks int) error {
	open, err := s.Store.ListFlows(ctx, store.FlowFilter{Open: true, Owner: owner.ID})
	if err != nil {
		return err
	}
	all := tasks
	for i := range open {
		all += open[i].Tasks
	}
	switch {
	case len(open) >= s.MaxFlows:
		return &badinput.Error{Field: "workflows",
			Problem: fmt.Sprintf("too many: %d of yours are not over, and a user may have %d", len(open), s.MaxFlows)}
	case all > s.MaxTasks:
		return &badinput.Error{Field: "tasks", Value: fmt.Sprint(tasks),
			Problem: fmt.Sprintf("too many: with this one your workflows have %d tasks, and a user's may have %d", all,
				s.MaxTasks)}
	}
	return nil
}

// maxKey leaves room for the task and the try in the keys of jobs.
const maxKey = 30

// checkSpec says what is wrong with a workflow that was submitted.
func checkSpec(spec *api.FlowSubmit) error {
	bad := func(field, value, want string) error { return &badinput.Error{Field: field, Value: value, Want: want} }
	switch {
	case spec.Key == "" || len(spec.Key) > maxKey || strings.ContainsAny(spec.Key, "/\x00\n"):
		return bad("key", spec.Key, fmt.Sprintf("1 to %d bytes without /", maxKey))
	case len(spec.Flow.Tasks) > maxFlowTasks:
		return bad("tasks", fmt.Sprint(len(spec.Flow.Tasks)), fmt.Sprintf("at most %d", maxFlowTasks))
	case len(spec.Flow.Needs) > maxFlowNeeds:
		return bad("needs", fmt.Sprint(len(spec.Flow.Needs)), fmt.Sprintf("at most %d", maxFlowNeeds))
	}
	for _, r := range spec.Routes {
		if !(r.LatencyS >= 0 && r.LatencyS < 1e6 && r.PerByteS >= 0 && r.PerByteS < 1e6) {
			return bad("routes", r.From+" → "+r.To, "a latency and a time per byte from 0 to a million seconds")
		}
	}
	return spec.Flow.CheckFields()
}
