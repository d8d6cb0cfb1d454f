package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// flowTaskID names a task of a workflow.
type flowTaskID struct {
	flow int64
	n    int
}

// mergedFlows is the workflows of a batch as they will be kept.
func (d *Disk) mergedFlows(flows []store.Flow) ([]store.Flow, error) {
	type name struct {
		owner uint32
		key   string
	}
	taken, kept := map[name]int64{}, map[int64]store.Flow{}
	for id, f := range d.flows {
		taken[name{f.Owner, f.Key}], kept[id] = id, f
	}
	var list []store.Flow
	for i := range flows {
		in := &flows[i]
		f, err := roundTrip(*in)
		if err != nil {
			return nil, err
		}
		f.ID, f.Owner, f.Key, f.User, f.Submitted, f.Spec = in.ID, in.Owner, in.Key, in.User, in.Submitted,
			bytes.Clone(in.Spec)
		if is, there := taken[name{f.Owner, f.Key}]; there && is != f.ID {
			return nil, fmt.Errorf("key %q is that of workflow %d", f.Key, is)
		}
		before, there := kept[f.ID]
		switch {
		case there && in.Spec == nil:
			f.Spec = before.Spec
		case in.Spec == nil:
			return nil, fmt.Errorf("workflow %d is new and has no description", f.ID)
		}
		if there {
			delete(taken, name{before.Owner, before.Key})
		}
		taken[name{f.Owner, f.Key}], kept[f.ID] = f.ID, f
		list = append(list, f)
	}
	return list, nil
}

func (d *Disk) putFlows(b *store.Batch, flows []store.Flow) {
	for _, f := range flows {
		d.flows[f.ID] = f
	}
	for _, t := range b.FlowTasks {
		d.flowTasks[flowTaskID{t.Flow, t.N}] = t
	}
	for _, e := range b.FlowEntries {
		d.flowEntries[e.Flow] = append(d.flowEntries[e.Flow], e)
	}
}

// addFlowRoots adds the trees that open workflows and pools need.
func (d *Disk) addFlowRoots(needed map[string]bool) {
	for _, f := range d.flows {
		if !f.State.IsOver() {
			needed[f.Work] = true
		}
	}
	for _, p := range d.pools {
		if !p.State.IsOver() {
			needed[p.Work] = true
		}
	}
	for id, t := range d.flowTasks {
		if f, there := d.flows[id.flow]; there && !f.State.IsOver() && t.Job != core.JobID(0) {
			j := d.jobs[t.Job]
			needed[j.Result], needed[j.Work] = true, true
		}
	}
}

// FindFlow implements store.Store.
func (s *Store) FindFlow(ctx context.Context, id int64) (*store.Flow, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	f, there := s.d.flows[id]
	if !there {
		return nil, fmt.Errorf("%w: %d", store.ErrNoFlow, id)
	}
	f.Spec = bytes.Clone(f.Spec)
	return &f, nil
}

// ListFlows implements store.Store.
func (s *Store) ListFlows(ctx context.Context, f store.FlowFilter) ([]store.Flow, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []store.Flow
	for _, flow := range s.d.flows {
		if (!f.Open || !flow.State.IsOver()) && (f.AllOwners || flow.Owner == f.Owner) && (f.Key == "" || flow.Key == f.Key) {
			flow.Spec = nil
			list = append(list, flow)
		}
	}
	slices.SortFunc(list, func(a, b store.Flow) int { return cmp.Compare(b.ID, a.ID) })
	return firstN(list, f.Limit), nil
}

// ListFlowTasks implements store.Store.
func (s *Store) ListFlowTasks(ctx context.Context, id int64) ([]store.FlowTask, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []store.FlowTask
	for key, t := range s.d.flowTasks {
		if key.flow == id {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b store.FlowTask) int { return cmp.Compare(a.N, b.N) })
	return list, nil
}

// ListFlowEntries implements store.Store.
func (s *Store) ListFlowEntries(ctx context.Context, id int64) ([]store.FlowEntry, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return slices.Clone(s.d.flowEntries[id]), nil
}
