package broker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// AssembleWork makes a work folder of one that was sent, of the file that is to be the
// program's standard input, and of files as other jobs left them. What the depot
// does not hold any more of those is as it was sent.
func (b *Broker) AssembleWork(ctx context.Context, work, stdin string, made []api.Made) (string, error) {
	chunks, err := b.depotFor(ctx)
	if err != nil {
		return "", err
	}
	load := func(field, id string) (*depot.Tree, error) {
		if id == "" {
			return &depot.Tree{}, nil
		}
		t, err := depot.LoadTree(ctx, chunks, depot.ID(id))
		if err != nil {
			err = &badinput.Error{Field: field, Value: id, Want: "a directory that was sent before: " + err.Error()}
		}
		return t, err
	}
	mine, err := load("work", work)
	if err != nil {
		return "", err
	}
	input, err := load("stdin", stdin)
	if err != nil {
		return "", err
	}
	mine, changed := tree.OverlayTree(mine, input)
	for _, m := range made {
		t, err := b.madeBy(ctx, chunks, m)
		if err != nil {
			return "", err
		}
		var more bool
		mine, more = tree.OverlayTree(mine, t)
		changed = changed || more
	}
	if !changed {
		return work, nil
	}
	id, err := depot.KeepTree(ctx, chunks, mine)
	return string(id), err
}

// madeBy is the files that a job left, as far as the depot still holds them.
func (b *Broker) madeBy(ctx context.Context, chunks *depot.Store, m api.Made) (*depot.Tree, error) {
	_, v, err := b.findJob(ctx, fmt.Sprint(m.Job))
	if err != nil {
		return nil, err
	}
	id := cmp.Or(v.Result, v.Work) // without a result it changed nothing
	if id == "" {
		return &depot.Tree{}, nil
	}
	t, err := depot.LoadTree(ctx, chunks, depot.ID(id))
	if err != nil {
		b.opt.Log.Info("what a job made is not in the depot any more", "job", m.Job, "error", err)
		return &depot.Tree{}, nil
	}
	t.Entries = slices.DeleteFunc(slices.Clone(t.Entries), func(e depot.Entry) bool {
		return !slices.ContainsFunc(m.Files, func(f string) bool { return e.Path == f || strings.HasPrefix(e.Path, f+"/") })
	})
	var ids []depot.ID
	for _, e := range t.Entries {
		ids = append(ids, e.Chunks...)
	}
	if missing, err := chunks.MissingChunks(ctx, ids); err != nil || len(missing) > 0 {
		return &depot.Tree{}, err
	}
	return t, nil
}
