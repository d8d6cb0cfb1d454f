package broker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// MigrateJob moves a job: to a cluster, or where it is expected to end soonest. One
// that runs has moved when MigrateJob returns; one that waits, waits elsewhere then.
// Whether and where it goes the engine decides.
func (b *Broker) MigrateJob(ctx context.Context, ref, to string) (string, error) {
	j, v, err := b.findJob(ctx, ref)
	if err != nil {
		return "", err
	}
	if j == nil || v.State.IsTerminal() {
		return "", fmt.Errorf("job %s has ended: only running and pending jobs can be migrated", ref)
	}
	if v.Suspended != 0 {
		return "", errSuspended(j, "migrated")
	}
	in := core.Input{Kind: core.Migrate, Job: v.ID}
	if to != "" {
		c, err := b.targetCluster("--to", to)
		if err != nil {
			return "", err
		}
		in.Aim = core.AimAt(c.id)
	}
	if vitals, _ := j.lastVitals(); to == "" && vitals != nil && v.State == core.Running {
		in.Outlook = &core.Outlook{Stay: vitals.Left, Moves: b.moveAlternatives(j.asOwner(ctx), j, vitals, v.Inputs)}
	}
	began := b.brokerTime()
	var from string
	var epoch core.Epoch
	var refused error
	var held, ran bool
	var verdict core.Event
	err = b.askLoop(ctx, func(t *turn) {
		from, epoch, ran = j.rec.Cluster, j.rec.Epoch, j.rec.State == core.Running
		w, live := t.b.eng.FindJob(j.rec.ID)
		held = !live || w.Hold != core.NotHeld
		if held && to == "" || !live {
			refused = t.pinHeld(j, to)
			return
		}
		j.verdict = core.Event{}
		allowed := t.b.namesAmong(w.Spec.Components[0].Clusters)
		t.stepEngine(&in)
		verdict, refused = j.verdict, t.moveRefusal(j, to, from, allowed)
	})
	switch {
	case err != nil:
		return "", err
	case refused != nil:
		return "", refused
	case held:
		return fmt.Sprintf("%s will wait for %s", j.shortName(), to), nil
	case !ran:
		aim, _ := verdict.Aim.Cluster()
		text := fmt.Sprintf("%s waits for %s now", j.shortName(), b.allClusters()[aim].Name)
		if from != "" && epoch > 0 {
			text += ", not for " + from + " any more"
		}
		return text, nil
	}
	return b.awaitMove(ctx, j, from, to, epoch, began)
}

// awaitMove waits until a job that was told to move runs again, and says where
// and what of its work it has kept.
func (b *Broker) awaitMove(ctx context.Context, j *job, from, to string, epoch core.Epoch,
	began core.Time) (string, error) {
	v, err := b.awaitRun(ctx, j)
	switch {
	case err != nil:
		return "", err
	case v.State.IsTerminal():
		return fmt.Sprintf("%s ended before it could be moved: %s", j.shortName(), v.State), nil
	case v.Epoch == epoch:
		return "", fmt.Errorf("%s stays in %s: %s", j.shortName(), from, v.Reason)
	}
	var saved []wire.Saved
	if err := b.askLoop(ctx, func(*turn) { saved = j.saved }); err != nil {
		return "", err
	}
	return movedText(v, from, to, len(saved) > 0, b.brokerTime().Sub(began)), nil
}

// awaitRun waits until a job that was told to stop runs again, runs on as it could not, or has ended.
func (b *Broker) awaitRun(ctx context.Context, j *job) (*View, error) {
	for {
		next := j.nextChange()
		v, err := b.viewOf(ctx, j)
		if err != nil || v.State.IsTerminal() || v.State == core.Running {
			return v, err
		}
		select {
		case <-next:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-b.ctx.Done():
			return nil, ErrStopped
		}
	}
}

// movedText says what became of a job that was told to move.
func movedText(v *View, from, to string, continued bool, took time.Duration) string {
	text := fmt.Sprintf("job %d moved from %s to %s in %.1f s", v.ID, from, v.Cluster, took.Seconds())
	switch {
	case v.Cluster == from:
		text = fmt.Sprintf("job %d runs in %s again: there was no room elsewhere any more when it had left", v.ID, from)
	case to != "" && v.Cluster != to:
		text += ": there was no room in " + to + " any more when it had left"
	}
	if continued {
		return text
	}
	lost := ""
	if v.CPU > 0 {
		lost = fmt.Sprintf(", %s of CPU time are lost", core.DurationFromSeconds(v.CPU).Round(100*time.Millisecond))
	}
	return text + "; it began again from the start (it has no checkpoint" + lost + ")"
}

// namesAmong lists the clusters where a job may run, which names some of them, or none if
// it may run on all.
func (b *Broker) namesAmong(allowed []core.ClusterID) []string {
	var names []string
	for _, c := range b.offeredClusters() {
		if len(allowed) == 0 || slices.Contains(allowed, c.id) {
			names = append(names, c.Name)
		}
	}
	return names
}

// moveRefusal is why a job is not moved; nil if it is.
func (t *turn) moveRefusal(j *job, to, from string, allowed []string) error {
	why, code := j.verdict.WhyText(t.b.clusterName(j.verdict.Cluster)), j.verdict.Why.Code
	if _, goes := j.verdict.Aim.Cluster(); goes {
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(allowed), func(name string) bool { return name == from })
	where := fmt.Sprintf("%s may run on %s", j.shortName(), strings.Join(others, ", "))
	if len(others) == 0 {
		where = fmt.Sprintf("%s may run on %s only", j.shortName(), strings.Join(allowed, ", "))
		if len(j.spec.On) > 0 {
			where += " (--on " + strings.Join(j.spec.On, ", --on ") + ")"
		}
	}
	switch {
	case to == "" && len(others) == 0:
		return &badinput.Error{Field: "--to", Problem: where}
	case code == core.MoveForbidden:
		return &badinput.Error{Field: "--to", Value: to, Problem: where}
	case code == core.MoveSame:
		return &badinput.Error{Field: "--to", Value: to, Problem: "the job is there already; " + where}
	case code == core.MoveRefused || code == core.MoveTooSmall || code == core.ClusterRemoved:
		return &badinput.Error{Field: "--to", Value: to, Problem: why}
	case to == "":
		return fmt.Errorf("%s is not moved: %s", j.shortName(), why)
	}
	return fmt.Errorf("%s is not moved to %s: %s", j.shortName(), to, why)
}

// pinHeld remembers for which cluster an element of an array is to wait whose turn has
// not come.
func (t *turn) pinHeld(j *job, to string) error {
	if to == "" {
		return &badinput.Error{Field: "--to", Problem: "missing",
			Want: fmt.Sprintf("the cluster for which %s is to wait: it is held", j.shortName())}
	}
	if len(j.spec.On) > 0 && !slices.Contains(j.spec.On, to) {
		return &badinput.Error{Field: "--to", Value: to,
			Want: fmt.Sprintf("a cluster where %s may run: %s", j.shortName(), strings.Join(j.spec.On, ", "))}
	}
	j.rec.PinnedTo = to
	t.touchJob(j)
	t.explainJob(j, "move", "to wait for "+to, core.Reason{Code: core.UserMoves}.String(), nil)
	return nil
}
