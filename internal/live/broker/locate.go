package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
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

// locateInputs looks at the inputs of a job that did not come with it, and at where its
// results go.
func (b *Broker) locateInputs(ctx context.Context, spec *jobfile.Job) ([]store.Input, error) {
	if err := b.canLeave(ctx, spec); err != nil {
		return nil, err
	}
	var list []store.Input
	for i := range spec.Far {
		f := &spec.Far[i]
		in := store.Input{Input: wire.Input{Name: f.As, From: f.From}, Size: -1}
		in.Site, in.Path = f.SiteAndPath()
		look := b.lookAt
		if in.Site == jobfile.InDepot {
			look = b.lookInDepot
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

func (b *Broker) lookInDepot(ctx context.Context, in *store.Input) error {
	in.Tree = in.Path
	var tree *depot.Tree
	chunks, err := b.depotFor(ctx)
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
func (b *Broker) lookAt(ctx context.Context, in *store.Input) error {
	c := b.clusterNamed(in.Site)
	if c == nil {
		return wrongInput(in, badinput.UnknownName("cluster", in.Site, b.clusterNames())+
			"; a file with such a name here is ./"+in.From)
	}
	files := b.stagerFor(ctx, c)
	if files == nil {
		return wrongInput(in, "a cluster whose files can be reached")
	}
	ctx, cancel := context.WithTimeout(ctx, statTimeout)
	defer cancel()
	f, err := files.StatFile(ctx, in.Path)
	switch {
	case err == nil:
		in.Path, in.Size, in.ModTime = f.Path, f.Size, f.ModTime
		in.Tree = b.replicasOf(ctx).ContentOf(c.Site, in.Path, in.Size, in.ModTime)
	case isHopeless(err):
		return wrongInput(in, fmt.Sprintf("no such file: %v", err))
	default: // it is looked at again when it is needed
		in.Away = err.Error()
	}
	return nil
}

// isHopeless says whether a file cannot be had, whoever tries.
func isHopeless(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrInvalid)
}

// inPlace says whether a cluster has an input without anybody bringing it.
func (b *Broker) inPlace(in *store.Input, c *cluster) bool {
	home := b.clusterNamed(in.Site)
	return in.Site != jobfile.InDepot && home != nil && (home.id == c.id || home.Site == c.Site)
}

// attemptInputs is what an agent in a cluster is told of the inputs.
func (b *Broker) attemptInputs(j *job, c *cluster) []wire.Input {
	var list []wire.Input
	for i := range j.rec.Inputs {
		in := j.rec.Inputs[i].Input
		if b.inPlace(&j.rec.Inputs[i], c) {
			in.Tree = ""
		} else {
			in.Path = ""
		}
		list = append(list, in)
	}
	return list
}

// What is believed of the speed of transfers that nobody has measured, in bytes
// a second, and of files that nobody has seen, in bytes.
const (
	guessedRate = 10 << 20
	nearRate    = 200 << 20 // between the depot and clusters of this machine
	guessedSize = 1 << 30
	// minBringTime is what it takes at least to see that everything is there.
	minBringTime = 50 * time.Millisecond
)

// bringTimes is how long it takes to bring the inputs to each cluster, by its
// number; nil if there are none.
func (b *Broker) bringTimes(ctx context.Context, inputs []store.Input) []time.Duration {
	if len(inputs) == 0 {
		return nil
	}
	rows := b.transferRows(ctx)
	clusters := b.allClusters()
	list := make([]time.Duration, len(clusters))
	for _, c := range clusters {
		for i := range inputs {
			list[c.id] += b.bringTime(ctx, rows, &inputs[i], c)
		}
	}
	return list
}

func (b *Broker) bringTime(ctx context.Context, rows []history.Transfer, in *store.Input, to *cluster) time.Duration {
	if b.inPlace(in, to) {
		return 0
	}
	seconds := minBringTime.Seconds()
	if in.Tree == "" || !b.replicasOf(ctx).HasCopyAt(in.Tree, to.Name) {
		seconds += b.inputSources(ctx, rows, in, to)[0].seconds
	}
	return time.Duration(seconds * float64(time.Second))
}

// transferRate is the bytes a second that a transfer is expected to reach.
func (b *Broker) transferRate(rows []history.Transfer, from, to string, near bool) float64 {
	if r, ok := b.measuredRate(rows, from, to); ok {
		return r
	}
	if near {
		return nearRate
	}
	return guessedRate
}

// measuredRate is what the network, or earlier transfers, say of it; false if they
// say nothing.
func (b *Broker) measuredRate(rows []history.Transfer, from, to string) (float64, bool) {
	if r, ok := b.weatherRate(from, to); ok {
		return r, true
	}
	const tooFew = 64 << 10 // bytes, which tell of nothing but delays
	rows = slices.DeleteFunc(slices.Clone(rows), func(r history.Transfer) bool { return r.Sent < tooFew })
	r, n := history.TransferRate(rows, from, to)
	return r, n > 0 && r > 0
}

// directRate is that between two sites: if nothing is known of it, that of the
// slower of their ways to the broker.
func (b *Broker) directRate(rows []history.Transfer, from, to string) float64 {
	informative := slices.DeleteFunc(slices.Clone(rows), func(r history.Transfer) bool {
		return !isInformativeTransfer(r.Sent, time.Duration(r.Seconds*float64(time.Second)))
	})
	if r, ok := b.measuredRate(informative, from, to); ok {
		return r
	}
	// As the way through the broker is judged: of that it would be a half.
	return min(b.transferRate(rows, from, "", false), b.transferRate(rows, "", to, false))
}

// explainUnreachable tells of inputs that nobody could look at.
func (t *turn) explainUnreachable(j *job) {
	for i := range j.rec.Inputs {
		if in := &j.rec.Inputs[i]; in.Away != "" {
			t.explainJob(j, "stage", in.From+" has not been looked at", "its site is out of reach: "+in.Away, nil)
		}
	}
}
