package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"path"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Workflows are carried out beside the loop, by package workflow: their tasks are jobs like
// others. The loop keeps their records, as it alone writes to the store.

// RequestUser is on whose behalf something is asked.
func (b *Broker) RequestUser(ctx context.Context) (User, error) { return b.requestUser(ctx) }

// CommitFlows makes records of workflows durable.
func (b *Broker) CommitFlows(ctx context.Context, flows []store.Flow, tasks []store.FlowTask,
	entries []store.FlowEntry) error {
	// What cannot be written would be the end of the loop.
	if _, err := json.Marshal(entries); err != nil {
		return fmt.Errorf("decisions of a workflow: %w", err)
	}
	if _, err := json.Marshal(flows); err != nil {
		return fmt.Errorf("a workflow: %w", err)
	}
	return b.askLoop(ctx, func(t *turn) {
		t.batch.Flows = append(t.batch.Flows, flows...)
		t.batch.FlowTasks = append(t.batch.FlowTasks, tasks...)
		t.batch.FlowEntries = append(t.batch.FlowEntries, entries...)
	})
}

// CheckNewFlow says why a workflow with these files cannot be taken in at present.
func (b *Broker) CheckNewFlow(ctx context.Context, work string) error {
	if err := b.hasRoom(); err != nil || work == "" {
		return err
	}
	chunks, err := b.depotFor(ctx)
	if err != nil {
		return err
	}
	if there, err := chunks.HasTree(ctx, depot.ID(work)); err != nil || !there {
		return &badinput.Error{Field: "work", Value: work, Want: "a working directory that was sent before", Err: err}
	}
	return nil
}

// SubmitTask takes in a job that finds its inputs in its work folder: as other jobs made them,
// or as they are in a tree.
func (b *Broker) SubmitTask(ctx context.Context, spec *jobfile.Job, work string, inputs []string,
	made []api.Made) (core.JobID, error) {
	folder, err := b.taskFolder(ctx, work, inputs, made)
	if err != nil {
		return 0, err
	}
	ids, err := b.SubmitJob(ctx, spec, folder)
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

// taskFolder is a tree with the inputs of a task and nothing else.
func (b *Broker) taskFolder(ctx context.Context, work string, inputs []string, made []api.Made) (string, error) {
	chunks, err := b.depotFor(ctx)
	if err != nil {
		return "", err
	}
	sent := &depot.Tree{}
	if work != "" {
		if sent, err = depot.LoadTree(ctx, chunks, depot.ID(work)); err != nil {
			return "", fmt.Errorf("the files of the workflow: %w", err)
		}
	}
	wanted := make(map[string]bool, len(inputs))
	for _, in := range inputs {
		wanted[in] = true
	}
	have := tree.EntryIndex{}
	take := func(t *depot.Tree) {
		for i := range t.Entries {
			e := &t.Entries[i]
			if isWithin(wanted, e.Path) && (!e.Mode.IsDir() || have[e.Path] == nil) && have.EnsureParents(e.Path) {
				have[e.Path] = e
			}
		}
	}
	take(sent)
	for _, m := range made {
		t, err := b.madeBy(ctx, chunks, m)
		if err != nil {
			return "", err
		}
		take(t)
	}
	for _, in := range inputs {
		if have[in] == nil {
			return "", &badinput.Error{Field: "inputs", Value: in,
				Want: "a file that was there when the workflow was submitted, or that a task made; the depot does not hold it"}
		}
	}
	id, err := depot.KeepTree(ctx, chunks, have.BuildTree())
	return string(id), err
}

// isWithin tells whether a path is among those wanted, or in a folder that is.
func isWithin(wanted map[string]bool, p string) bool {
	for ; p != "."; p = path.Dir(p) {
		if wanted[p] {
			return true
		}
	}
	return false
}
