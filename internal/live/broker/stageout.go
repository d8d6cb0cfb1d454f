package broker

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// outgoingFolder is where an agent puts results that are to be left somewhere; "" if
// there are none, or they have to come home.
func (b *Broker) outgoingFolder(j *job, c *cluster) string {
	if len(j.spec.Leave) == 0 {
		return ""
	}
	return b.mover.OutgoingFolder(j.asOwner(b.ctx), b.transferCluster(c))
}

// leaveAll leaves results at the clusters that their user named.
func (b *Broker) leaveAll(ctx context.Context, j *job) error {
	if j.rec.Outgoing == "" {
		return nil
	}
	err := b.mover.LeaveResults(ctx, movedJob{b, j}, j.spec.Leave, j.rec.Cluster, j.rec.Outgoing)
	j.left = err == nil
	return err
}

// dropSetAside removes what an attempt that is over set aside: nobody asks for it
// any more, unless it is still to be left where it belongs, or could not be. A
// cluster that is out of reach is waited for. It reports false if the broker ends
// meanwhile.
func (b *Broker) dropSetAside(j *job, c core.Command) bool {
	var rec store.Job
	if b.askLoop(b.ctx, func(*turn) { rec = j.rec }) != nil {
		return false
	}
	if j.spec == nil { // it is over, and only the outbox knows of it
		known, err := b.opt.Store.FindJob(b.ctx, strconv.FormatInt(int64(c.Job), 10))
		if err != nil {
			return errors.Is(err, store.ErrNoJob)
		}
		rec = *known
	}
	name := wire.AttemptName(c.Job, c.Epoch, c.Part) // as agents call it
	i := slices.IndexFunc(b.allClusters(), func(x *cluster) bool { return x.id == c.Cluster })
	if i < 0 || rec.Spec == nil || len(rec.Spec.Leave) == 0 || filepath.Base(rec.Outgoing) == name {
		return true
	}
	return b.mover.DropSetAside(WithUser(b.ctx, ownerOf(&rec)), b.transferCluster(b.allClusters()[i]), name)
}

// tidyOutgoing has what lay at the cluster of a job removed, now that it is where
// it belongs. It goes through the outbox: the cluster may be out of reach.
func (t *turn) tidyOutgoing(j *job) {
	if j.left {
		j.rec.Outgoing = ""
		t.releaseEnded(j, j.rec.Epoch, 0)
	}
}

// oneLine is an error as it stands in a reason.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
