package transfer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// statTimeout is how long a site may take to say what a file is before it is taken
// to be out of reach.
const statTimeout = 15 * time.Second

// LocateInputs looks at the inputs of a job that did not come with it, and at where its
// results go.
func (m *Mover) LocateInputs(ctx context.Context, spec *jobfile.Job) ([]store.Input, error) {
	if err := m.canLeave(ctx, spec); err != nil {
		return nil, err
	}
	var list []store.Input
	wanted := make([]store.Input, 0, len(spec.Far))
	for _, f := range spec.Far {
		wanted = append(wanted, store.Input{Input: wire.Input{Name: f.As, From: f.From}})
	}
	for i := range spec.Components {
		for _, f := range spec.Components[i].Far {
			wanted = append(wanted, store.Input{Input: wire.Input{Name: f.As, From: f.From}, Component: i + 1})
		}
	}
	for _, in := range wanted {
		in.Size = -1
		f := jobfile.FarInput{From: in.From}
		in.Site, in.Path = f.SiteAndPath()
		look := m.lookAt
		if in.Site == jobfile.InDepot {
			look = m.lookInDepot
		}
		if err := look(ctx, &in); err != nil {
			return nil, err
		}
		list = append(list, in)
	}
	return list, nil
}

func wrongInput(in *store.Input, want string) error {
	return &badinput.Error{Field: "inputs", Value: in.From, Want: want}
}

func (m *Mover) lookInDepot(ctx context.Context, in *store.Input) error {
	in.Tree = in.Path
	var tree *depot.Tree
	chunks, err := m.grid.DepotFor(ctx)
	if err == nil {
		tree, err = depot.LoadTree(ctx, chunks, depot.ID(in.Tree))
	}
	if err != nil {
		return wrongInput(in, "something that is in the depot: "+err.Error())
	}
	in.Size = 0
	for i := range tree.Entries {
		in.Size += tree.Entries[i].Size
	}
	return nil
}

// lookAt looks at a file at a site. One whose site is out of reach is believed
// to be there.
func (m *Mover) lookAt(ctx context.Context, in *store.Input) error {
	c := m.grid.ClusterNamed(in.Site)
	if c == nil {
		return wrongInput(in, badinput.UnknownName("cluster", in.Site, m.grid.OfferedNames())+
			"; a file with such a name here is ./"+in.From)
	}
	files := m.stagerFor(ctx, c)
	if files == nil {
		return wrongInput(in, "a cluster whose files can be reached")
	}
	ctx, cancel := context.WithTimeout(ctx, statTimeout)
	defer cancel()
	f, err := files.StatFile(ctx, in.Path)
	switch {
	case err == nil:
		in.Path, in.Size, in.ModTime = f.Path, f.Size, f.ModTime
		in.Tree = m.replicasOf(ctx).ContentOf(c.Site, in.Path, in.Size, in.ModTime)
	case IsHopeless(err):
		return wrongInput(in, fmt.Sprintf("no such file: %v", err))
	default: // it is looked at again when it is needed
		in.Away = err.Error()
	}
	return nil
}

// IsHopeless says whether a file cannot be had, whoever tries.
func IsHopeless(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrInvalid)
}

// IsInPlace says whether a cluster has an input without anybody bringing it.
func (m *Mover) IsInPlace(in *store.Input, c *Cluster) bool {
	home := m.grid.ClusterNamed(in.Site)
	return in.Site != jobfile.InDepot && home != nil && (home.ID == c.ID || home.Site == c.Site)
}

// MinBringTime is what it takes at least to see that everything is there.
const MinBringTime = 50 * time.Millisecond

// BringTimes is how long it takes to bring the inputs to each cluster, by its
// number; nil if there are none.
func (m *Mover) BringTimes(ctx context.Context, inputs []store.Input) []time.Duration {
	if len(inputs) == 0 {
		return nil
	}
	rows := m.transferRows(ctx)
	clusters := m.grid.EveryCluster()
	list := make([]time.Duration, len(clusters))
	for _, c := range clusters {
		for i := range inputs {
			list[c.ID] += m.bringTime(ctx, rows, &inputs[i], c)
		}
	}
	return list
}

func (m *Mover) bringTime(ctx context.Context, rows []history.Transfer, in *store.Input, to *Cluster) time.Duration {
	if m.IsInPlace(in, to) {
		return 0
	}
	seconds := MinBringTime.Seconds()
	if in.Tree == "" || !m.replicasOf(ctx).HasCopyAt(in.Tree, to.Name) {
		seconds += m.inputSources(ctx, rows, in, to)[0].seconds
	}
	return time.Duration(seconds * float64(time.Second))
}
