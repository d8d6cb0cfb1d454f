package broker

import (
	"context"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/hand"
	"github.com/godwit-hpc/godwit/internal/history"
)

// bringHome puts what a job changed in its work folder back where it came from,
// and what is to be left elsewhere there.
// It is repeated after a crash: putting a file there twice is putting it there
// once.
func (b *Broker) bringHome(j *job) {
	j.line.add(b.beside, func() {
		began := b.now()
		var placed hand.Placed
		home, err := b.hand(j.as(b.ctx))
		unwritten := err
		if err == nil && j.rec.Result != "" {
			placed, err = home.PutBack(b.ctx, &hand.Results{Dir: j.spec.Workdir, Before: j.rec.Work, After: j.rec.Result, Outputs: j.spec.Outputs,
				Aside: fmt.Sprintf(".godwit-%d", j.rec.ID)})
		}
		if home != nil {
			unwritten = b.writeOutputs(home, j)
		}
		notLeft := b.leaveAll(j.as(b.ctx), j)
		if b.ctx.Err() != nil {
			return
		}
		b.handOn(j, map[inheritance]string{}, func(t *turn) {
			switch {
			case err != nil:
				// The tree stays in the depot as long as the job is known.
				t.explain(j, "results", "not brought home", err.Error(), map[string]any{"tree": j.rec.Result})
				j.rec.Reason = "its results could not be brought home: " + err.Error()
			case placed.Aside > 0:
				t.explain(j, "results", "brought home", fmt.Sprintf("%d files had been changed meanwhile: the job's lie beside them, named .godwit-%d", placed.Aside, j.rec.ID), nil)
			}
			if unwritten != nil {
				t.explain(j, "results", "output not written to its file", unwritten.Error(), nil)
				j.rec.Reason = "its output could not be written to its file: " + unwritten.Error()
			}
			if notLeft != nil {
				t.explain(j, "results", "not left where they belong", oneLine(notLeft), nil)
				j.rec.Reason = "results could not be left where they belong: " + oneLine(notLeft)
			} else if at, path := j.rec.Cluster, j.rec.Outgoing; path != "" {
				t.after(func() { b.goBeside(func(ctx context.Context) { b.dropOutgoing(j.as(ctx), at, path) }) })
			}
			if j.rec.Result != "" {
				t.moved(j, history.Transfer{What: history.StageOut, From: j.rec.Cluster, Bytes: placed.Bytes, Sent: placed.Bytes, Seconds: t.now.Sub(began).Seconds()})
			}
			j.rec.StagedOut = true
			t.finished(j)
			t.touch(j)
		})
	})
}
