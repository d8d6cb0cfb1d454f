package broker

import (
	"errors"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// How often it is looked whether a manager has given the processors that it was asked for.
const (
	minGrantPause = 100 * time.Millisecond
	maxGrantPause = time.Second
)

// extenderOf is the driver of a cluster whose manager can be asked for processors for an attempt that runs, else nil.
func extenderOf(d driver.Driver) driver.Extender {
	if x, ok := d.(driver.Extender); ok && x.CanExtend() {
		return x
	}
	return nil
}

// carryAcquire has the manager give a part what its program has accepted.
func (t *turn) carryAcquire(j *job, id driver.ID, serial int) {
	t.afterCommit(func() { t.b.runInBackground(func() { t.b.acquireProcs(j, id, serial) }) })
}

// acquisition is what a manager is being asked for.
type acquisition struct {
	driver driver.Extender // nil: nothing any more
	size   int             // that the part would have
	more   int             // than it has
	late   bool            // it goes on with what there is by now
}

// acquireProcs asks the manager for processors until it has given them or the time is up, and tells the engine. It may
// be done twice at a time, after an agent or the broker came back.
func (b *Broker) acquireProcs(j *job, id driver.ID, serial int) {
	for pause := minGrantPause; ; pause = min(2*pause, maxGrantPause) {
		var now acquisition
		err := b.askLoop(b.ctx, func(t *turn) { now = t.findAcquisition(j, id, serial) })
		if err != nil || now.driver == nil {
			return
		}
		has, err := now.driver.ExtendAttempt(b.ctx, id, now.size)
		if err != nil && b.ctx.Err() == nil {
			b.opt.Log.Warn("a manager does not give processors", "job", id.Job, "part", id.Part, "error", err)
		}
		if has >= now.size || now.late || errors.Is(err, driver.ErrRefused) {
			b.postToLoop(func(t *turn) {
				t.stepEngine(&core.Input{Kind: core.Granted, Job: id.Job, Epoch: id.Epoch, Part: id.Part, Serial: serial,
					N: max(0, has-(now.size-now.more)), Done: j.doneSoFar()})
			})
			return
		}
		if !clock.SleepContext(b.ctx, pause) {
			return
		}
	}
}

func (t *turn) findAcquisition(j *job, id driver.ID, serial int) acquisition {
	o, open := t.b.eng.FindOffer(id.Job, id.Part)
	p, placed := t.b.eng.FindPart(id.Job, id.Part)
	if !open || !placed || o.Accepted == 0 || o.Serial != serial || j.rec.Epoch != id.Epoch {
		return acquisition{}
	}
	return acquisition{driver: extenderOf(t.b.allClusters()[p.Cluster].Driver), size: p.Size + o.Accepted,
		more: o.Accepted, late: t.now >= o.Due}
}
