package broker

import (
	"context"
	"errors"
	"slices"

	"github.com/godwit-hpc/godwit/internal/live/broker/transfer"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// stageBeside has the inputs of a job brought to the cluster where it was placed,
// until they are there or the job is not to run there any more.
func (b *Broker) stageBeside(j *job, id uint64, c core.Command) {
	ctx, cancel := context.WithCancel(j.asOwner(b.ctx))
	j.stopStaging = append(j.stopStaging, cancel)
	b.runUntilStopped(func(context.Context) {
		defer cancel()
		b.stageInputs(ctx, j, id, c)
	})
}

// stageInputs brings the inputs and tells the engine.
func (b *Broker) stageInputs(ctx context.Context, j *job, id uint64, c core.Command) {
	cl := b.allClusters()[c.Cluster]
	var inputs []store.Input
	component := 0
	err := b.askLoop(ctx, func(*turn) {
		if j.rec.Epoch == c.Epoch && j.rec.State == core.Staging {
			inputs = slices.Clone(j.rec.Inputs)
		}
		if p, placed := b.eng.FindPart(c.Job, c.Part); placed {
			component = p.Component
		}
	})
	if err == nil {
		err = b.mover.StageInputs(ctx, movedJob{b, j}, inputs, component, c.Epoch, b.transferCluster(cl))
	}
	if b.ctx.Err() != nil {
		return // the outbox remembers
	}
	why, withdrawn := new(transfer.UnstagedError), ctx.Err() != nil
	b.postToLoop(func(t *turn) {
		t.markSent(id)
		t.settleJob(j)
		switch {
		case withdrawn || j.rec.Epoch != c.Epoch || j.rec.State != core.Staging: // nobody waits any more
		case errors.As(err, &why):
			t.explainJob(j, "stage", "stage-in to "+cl.Name+" failed", why.Error(), nil)
			t.stepEngine(&core.Input{Kind: core.ClaimLost, Job: c.Job, Epoch: c.Epoch, Part: c.Part, Barred: why.Forever})
			if j.rec.State.IsTerminal() { // nobody can have it
				j.rec.Reason += "; the last time: " + why.Error()
			}
		case err == nil:
			j.rec.Inputs = mergeStaged(j.rec.Inputs, inputs)
			t.keepReplicas()
			t.touchJob(j)
			t.stepEngine(&core.Input{Kind: core.Staged, Job: c.Job, Epoch: c.Epoch, Part: c.Part})
		}
	})
}

// mergeStaged is the inputs of a job with what is known of them since one of its parts had its
// own brought: others may have had theirs brought meanwhile.
func mergeStaged(now, staged []store.Input) []store.Input {
	list := slices.Clone(now)
	for i := range list {
		if i < len(staged) && staged[i].Tree != "" {
			list[i] = staged[i]
		}
	}
	return list
}

// recordRoute explains on which way an input comes.
func (t *turn) recordRoute(j *job, ev *core.Event) {
	if ev.N >= len(j.rec.Inputs) {
		return
	}
	in := &j.rec.Inputs[ev.N]
	how := in.From + " comes to " + t.b.clusterName(ev.Cluster)
	if from, direct := ev.Aim.Cluster(); direct {
		how += " from " + t.b.clusterName(from) + ", without the broker in between"
	} else {
		how += " through the broker"
	}
	t.explainJob(j, "route", how, ev.Why.String(), nil)
}

// attemptInputs is what an agent in a cluster is told of the inputs of a component.
func (b *Broker) attemptInputs(j *job, c *cluster, component int) []wire.Input {
	var list []wire.Input
	for i := range j.rec.Inputs {
		if !j.rec.Inputs[i].IsFor(component) {
			continue
		}
		in := j.rec.Inputs[i].Input
		if b.mover.IsInPlace(&j.rec.Inputs[i], b.transferCluster(c)) {
			in.Tree = ""
		} else {
			in.Path = ""
		}
		list = append(list, in)
	}
	return list
}

// explainUnreachable tells of inputs that nobody could look at.
func (t *turn) explainUnreachable(j *job) {
	for i := range j.rec.Inputs {
		if in := &j.rec.Inputs[i]; in.Away != "" {
			t.explainJob(j, "stage", in.From+" has not been looked at", "its site is out of reach: "+in.Away, nil)
		}
	}
}
