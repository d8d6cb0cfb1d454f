package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
)

// A job of several parts. To claim a part is to start its agent, which prepares all but the
// program and then says Ready. When all are, which is in the log by then, they are told to begin; an
// agent that comes back later is told again. So a broker or an agent may die at any moment:
// either the log says that all parts are claimed, and each begins or its loss ends the
// attempt, or it does not, and none has begun.

// isSplitOver reports whether the present attempt of a job has several parts.
func isSplitOver(rec *store.Job) bool { return len(rec.Parts) > 1 }

// partName is a part in a sentence.
func partName(rec *store.Job, part int) string {
	return fmt.Sprintf("part %d (%s)", part, rec.Parts[part].Cluster)
}

// handleClaim has the agent of a part started. While inputs are brought the processors are the
// job's own: its agents are started when all files are there, and the engine asks again then.
func (t *turn) handleClaim(j *job, c core.Command) {
	if w, live := t.b.eng.FindJob(c.Job); !live || w.Parts == 1 || w.State == core.Staging {
		return
	}
	id := t.sendCommand(c)
	t.afterCommit(func() { t.b.executeCommand(j, id, c) })
}

// forPart makes an attempt that of one of several parts. It is not saved, and nobody moves it for
// its deadline: a part cannot go on without the others.
func forPart(a *wire.Attempt, j *job, parts int, p engine.PartView) {
	a.Spec, a.Parts = j.spec.ForComponent(p.Component, p.Size), parts
	a.Spec.Checkpoint = jobfile.Checkpoint{Method: checkpointing.MethodRestart, Every: jobfile.Never}
	a.Deadline, a.Saved = 0, nil
}

// applyPartMessage takes in what the agent of one of several parts says.
func (t *turn) applyPartMessage(j *job, part int, m *wire.Message) {
	if part == 0 {
		t.recordVitals(j, m.State)
	}
	if j.rec.Parts[part].Ended != 0 && m.Kind != wire.Note {
		return // an agent that took over tells it again
	}
	switch m.Kind {
	case wire.Ready:
		p := j.rec.EditPart(part)
		p.Hosts, p.Slots, p.Meet = m.Hosts, m.Slots, m.Meet
		t.stepEngine(&core.Input{Kind: core.Claimed, Job: j.rec.ID, Epoch: j.rec.Epoch, Part: part})
	case wire.Running:
		t.partRuns(j, part, m)
	case wire.NotSaved:
		t.saveAnswered(j)
		t.afterCommit(func() { j.answerSaves(saveResult{err: m.Why}) })
	case wire.StaysOn:
		t.staysOn(j, partName(&j.rec, part)+": "+m.Why)
	case wire.Left:
		t.partLeft(j, part, m)
	case wire.Ended:
		t.partEnded(j, part, m)
	case wire.Lost:
		if m.Cause == wire.Unreachable && t.partsApart(j, part, m) {
			return
		}
		told := *m
		told.Why = partName(&j.rec, part) + ": " + m.Why
		t.attemptLost(j, part, &told)
	case wire.Collecting:
		j.rec.EditPart(part).Collecting = true
		t.awaitCollected(j)
	case wire.Suspended:
		t.agentSuspended(j, m.Why)
	case wire.Note:
		t.agentNote(j, m.Entry)
	}
}

// mayBegin reports whether all parts of a job are claimed and none has told the end of the attempt.
func (t *turn) mayBegin(j *job) bool {
	w, live := t.b.eng.FindJob(j.rec.ID)
	return live && isSplitOver(&j.rec) && w.Epoch == j.rec.Epoch && w.Claimed &&
		(w.State == core.Queued || w.State == core.Running)
}

// beginParts tells the agents to begin, once all of them are there: of an agent that is out of
// reach nobody knows when it will hear of it. If one has begun the others follow as they come.
func (t *turn) beginParts(j *job) {
	if !t.mayBegin(j) {
		return
	}
	begun := false
	for i := range j.rec.Parts {
		begun = begun || j.rec.Parts[i].Began
	}
	links := j.presentLinks()
	if !begun && len(links) < len(j.rec.Parts) {
		return
	}
	contacts := t.contactsOf(j)
	for _, l := range links {
		if !j.rec.Parts[l.part].Began {
			order := wire.Order{Kind: wire.Begin, Epoch: j.rec.Epoch, Contacts: contactsFor(l.part, contacts)}
			t.afterCommit(func() { l.sendOrder(order) })
		}
	}
}

// contactsOf is where the parts of a job are, for their programs.
func (t *turn) contactsOf(j *job) []wire.Contact {
	var list []wire.Contact
	first := 0
	for i := range j.rec.Parts {
		p, _ := t.b.eng.FindPart(j.rec.ID, i)
		rec := &j.rec.Parts[i]
		list = append(list, wire.Contact{Part: i, Cluster: rec.Cluster, Hosts: rec.Hosts, Ranks: p.Size, First: first,
			Slots: rec.Slots, Meet: rec.Meet})
		first += p.Size
	}
	return list
}

// contactsFor are the contacts that one part is told. Only part 0 may have something run in the others: they
// learn where each is reached, to see whether that works, and not the token without which nobody is let in.
func contactsFor(part int, all []wire.Contact) []wire.Contact {
	if part == 0 {
		return all
	}
	list := slices.Clone(all)
	for i := range list {
		if c := &list[i]; c.Meet != nil && c.Part != part {
			hidden := *c.Meet
			hidden.Token = strings.Repeat("0", len(hidden.Token))
			c.Meet = &hidden
		}
	}
	return list
}

// watchBegin gives up a job whose parts were all claimed and have not all begun after the time
// of grace: one of its clusters may be out of reach, and the others hold processors for it.
func (t *turn) watchBegin(j *job) {
	epoch, grace := j.rec.Epoch, t.b.opt.Engine.ClaimGrace
	if grace <= 0 {
		return
	}
	t.afterCommit(func() {
		t.b.runUntilStopped(func(ctx context.Context) {
			if clock.SleepContext(ctx, grace) {
				t.b.postToLoop(func(t *turn) { t.giveUpBegin(j, epoch, grace) })
			}
		})
	})
}

func (t *turn) giveUpBegin(j *job, epoch core.Epoch, grace time.Duration) {
	w, live := t.b.eng.FindJob(j.rec.ID)
	if !live || w.Epoch != epoch || w.State != core.Queued || !w.Claimed || !isSplitOver(&j.rec) {
		return
	}
	for i := range j.rec.Parts {
		if !j.rec.Parts[i].Began {
			t.explainJob(j, "lost", "given back", fmt.Sprintf("%s did not begin within %s of the last claim",
				partName(&j.rec, i), grace), nil)
			t.stepEngine(&core.Input{Kind: core.ClaimLost, Job: j.rec.ID, Epoch: epoch, Part: i})
			return
		}
	}
}

// partsApart: a part of what is one program cannot reach another. Nothing of it has run there; the engine gives the job
// back, and refuses it if its parts can be nowhere else. false: that is not what happened.
func (t *turn) partsApart(j *job, part int, m *wire.Message) bool {
	w, live := t.b.eng.FindJob(j.rec.ID)
	if !live || w.State != core.Queued || !j.spec.MPI || m.Peer == part || m.Peer >= len(j.rec.Parts) {
		return false
	}
	here, there := t.b.clusterNamed(j.rec.Parts[part].Cluster), t.b.clusterNamed(j.rec.Parts[m.Peer].Cluster)
	if here == nil || there == nil || here == there {
		return false
	}
	t.explainJob(j, "lost", "given back", m.Why, map[string]any{"cause": m.Cause})
	t.releaseEnded(j, j.rec.Epoch, part)
	t.stepEngine(&core.Input{Kind: core.FoundApart, Job: j.rec.ID, Epoch: j.rec.Epoch, Cluster: here.id,
		Aim: core.AimAt(there.id)})
	return true
}

// partRuns: the program of a part runs, from the beginning.
func (t *turn) partRuns(j *job, part int, m *wire.Message) {
	p := j.rec.EditPart(part)
	p.Began = true
	if len(m.Hosts) > 0 {
		p.Hosts = m.Hosts
	}
	if part == 0 {
		j.rec.Method, j.rec.Hosts, j.begunIO = m.Method, p.Hosts, 0
	}
	if j.spec.Setup+j.spec.Build.Command == "" {
		t.truncatePart(j, part)
	}
	t.dropSaved(j, func(*wire.Saved) bool { return true }) // of an attempt in one cluster
	cluster := p.Cluster
	t.afterCommit(func() { t.b.recordCarried("", cluster, m.Carried) })
	t.explainReport(j, "start", partName(&j.rec, part)+" from the beginning",
		"jobs of several parts are not checkpointed", nil)
	for i := range j.rec.Parts {
		if !j.rec.Parts[i].Began {
			return
		}
	}
	t.stepEngine(&core.Input{Kind: core.Started, Job: j.rec.ID, Epoch: j.rec.Epoch})
}

// partLeft: a part was stopped, as it was told or because its cluster takes the processors
// away. None goes on without it: the others are ended, and all begin anew.
func (t *turn) partLeft(j *job, part int, m *wire.Message) {
	if t.wasPreempted(j, m) {
		t.attemptLost(j, part, m)
		return
	}
	for i := range j.rec.Parts {
		t.truncatePart(j, i)
	}
	epoch := j.rec.Epoch
	t.releaseEnded(j, epoch, part)
	t.handleCommand(core.Command{Kind: core.Release, Job: j.rec.ID, Epoch: epoch})
	t.stepEngine(&core.Input{Kind: core.Left, Job: j.rec.ID, Epoch: epoch})
}

// partEnded: the program of a part has ended. If it failed the others are ended too; the job
// ends when all have.
func (t *turn) partEnded(j *job, part int, m *wire.Message) {
	if w, live := t.b.eng.FindJob(j.rec.ID); live && w.State == core.Queued && !w.Claimed {
		t.explainJob(j, "lost", "given back", partName(&j.rec, part)+" ended before all parts were claimed: "+m.Why, nil)
		t.stepEngine(&core.Input{Kind: core.ClaimLost, Job: j.rec.ID, Epoch: j.rec.Epoch, Part: part})
		return
	}
	p := j.rec.EditPart(part)
	p.Ended, p.Code, p.Why, p.Cause, p.Result = t.now, m.Code, strings.TrimSpace(m.Why), m.Cause, m.Result
	if m.State != nil {
		p.CPU, p.Peak = m.State.CPU, m.State.Peak
	}
	cluster := p.Cluster
	t.afterCommit(func() { t.b.recordCarried(cluster, "", m.Carried) })
	t.releaseEnded(j, j.rec.Epoch, part)
	if m.Code != 0 && !j.isCancelled(t) {
		t.explainReport(j, "part", partName(&j.rec, part)+" failed", fmt.Sprintf("exit code %d; the other parts are ended",
			m.Code), nil)
	}
	t.endOthers(j)
	t.awaitCollected(j)
	t.concludeParts(j)
}

// isCancelled reports whether a job is ending because its user wants it to.
func (j *job) isCancelled(t *turn) bool {
	w, live := t.b.eng.FindJob(j.rec.ID)
	return live && w.Cancelled
}

// hasFailedPart reports whether one of several parts has ended with an exit code other than 0.
func hasFailedPart(rec *store.Job) bool {
	for i := range rec.Parts {
		if rec.Parts[i].Ended != 0 && rec.Parts[i].Code != 0 {
			return true
		}
	}
	return false
}

// endOthers has the parts ended that run on after one has failed. An agent that is away is told
// when it comes.
func (t *turn) endOthers(j *job) {
	if !hasFailedPart(&j.rec) || j.isCancelled(t) {
		return
	}
	order := wire.Order{Kind: wire.Cancel, Epoch: j.rec.Epoch, Within: t.b.gracePeriod(j)}
	for _, l := range j.presentLinks() {
		if j.rec.Parts[l.part].Ended == 0 {
			t.afterCommit(func() { l.sendOrder(order) })
		}
	}
}

// awaitCollected tells the engine of a cancelled job that all its programs have ended and their
// files are on their way.
func (t *turn) awaitCollected(j *job) {
	for i := range j.rec.Parts {
		if p := &j.rec.Parts[i]; p.Ended == 0 && !p.Collecting {
			return
		}
	}
	t.stepEngine(&core.Input{Kind: core.Collecting, Job: j.rec.ID, Epoch: j.rec.Epoch})
}

// concludeParts ends a job whose parts have all ended. Its exit code is that of the part that
// failed first; its files are those that its parts changed.
func (t *turn) concludeParts(j *job) {
	var results []string
	changed := false
	for i := range j.rec.Parts {
		p := &j.rec.Parts[i]
		if p.Ended == 0 {
			return
		}
		results = append(results, p.Result)
		changed = changed || i > 0 && p.Result != ""
	}
	end := t.jointEnd(j)
	end.Result = results[0]
	if !changed || j.spec.Workdir == "" {
		t.programEnded(j, end)
		return
	}
	epoch, work, ctx := j.rec.Epoch, j.rec.Work, j.asOwner(t.b.ctx)
	t.afterCommit(func() {
		t.b.runInBackground(func() {
			merged, err := t.b.mergeParts(ctx, work, results)
			for wait := time.Second; err != nil; wait = min(2*wait, maxReturnDelay) {
				t.b.opt.Log.Error("the results of the parts of a job cannot be put together", "job", j.rec.ID, "error", err)
				if isDamaged(err) || !clock.SleepContext(ctx, wait) {
					break
				}
				merged, err = t.b.mergeParts(ctx, work, results)
			}
			if t.b.ctx.Err() != nil {
				return // the next broker does it
			}
			t.b.postToLoop(func(t *turn) {
				if j.rec.Epoch != epoch || !t.underWay(j) {
					return
				}
				end := t.jointEnd(j)
				if end.Result = merged; err != nil {
					end.Result = results[0]
					t.explainJob(j, "results", "only the files of part 0 are copied back", oneLine(err), nil)
				}
				t.programEnded(j, end)
			})
		})
	})
}

// jointEnd is the end of a job whose parts have ended, as an agent would tell it.
func (t *turn) jointEnd(j *job) *wire.Message {
	end := &wire.Message{Kind: wire.Ended}
	v := wire.Vitals{Done: -1, Chance: -1}
	if last, _ := j.lastVitals(); last != nil {
		v = *last
	}
	v.CPU, v.Used, v.Busy, v.Idle = 0, 0, 0, 0
	failed := -1
	for i := range j.rec.Parts {
		p := &j.rec.Parts[i]
		v.CPU, v.Peak = v.CPU+p.CPU, max(v.Peak, p.Peak)
		if p.Code != 0 && (failed < 0 || p.Ended < j.rec.Parts[failed].Ended) {
			failed = i
		}
	}
	if failed >= 0 {
		p := &j.rec.Parts[failed]
		end.Code, end.Cause = p.Code, p.Cause
		end.Why = partName(&j.rec, failed) + ": " + p.Why
		if p.Why == "" {
			end.Why = fmt.Sprintf("%s ended with exit code %d", partName(&j.rec, failed), p.Code)
		}
	}
	j.setVitals(&v, t.now)
	return end
}

// mergeParts puts together what the parts made of the work folder: a file that several of them
// changed is that of the first of these.
func (b *Broker) mergeParts(ctx context.Context, work string, results []string) (string, error) {
	chunks, err := b.depotFor(ctx)
	if err != nil {
		return "", err
	}
	load := func(id string) (*depot.Tree, error) {
		if id == "" {
			return &depot.Tree{}, nil
		}
		return depot.LoadTree(ctx, chunks, depot.ID(id))
	}
	base, err := load(work)
	if err != nil {
		return "", err
	}
	mine := base
	if results[0] != "" {
		if mine, err = load(results[0]); err != nil {
			return "", err
		}
	}
	any := false
	for _, id := range results[1:] {
		if id == "" {
			continue
		}
		theirs, err := load(id)
		if err != nil {
			return "", err
		}
		var changed bool
		mine, changed = tree.MergeTrees(base, theirs, mine, func(path string) (string, bool) { return path, true })
		any = any || changed
	}
	if !any {
		return results[0], nil
	}
	id, err := depot.KeepTree(ctx, chunks, mine)
	return string(id), err
}

// resumeParts takes up a job of several parts where the last broker left it.
func (b *Broker) resumeParts(j *job, epoch core.Epoch) (first func(*turn)) {
	for i := range j.rec.Parts {
		if j.rec.Parts[i].Ended != 0 {
			continue
		}
		c := core.Command{Kind: core.Claim, Job: j.rec.ID, Epoch: epoch, Part: i}
		j.line.addTask(b.runInBackground, func() { b.startAttempt(j, c) })
	}
	return func(t *turn) {
		if j.rec.Epoch == epoch && t.underWay(j) {
			t.watchBegin(j)
			t.concludeParts(j)
		}
	}
}

// isDamaged reports whether something is not in the depot, or not as it was put there.
func isDamaged(err error) bool {
	return errors.Is(err, depot.ErrMissing) || errors.Is(err, depot.ErrDamaged) || errors.Is(err, depot.ErrBadTree)
}

// truncatePart forgets what the program of a part wrote: it begins anew.
func (t *turn) truncatePart(j *job, part int) {
	if part == 0 {
		t.truncateOutput(j, 0, 0)
		return
	}
	for stream := 1; stream <= 2; stream++ {
		if e := t.b.jobLog(j, part, stream).TruncateAt(0); e != nil {
			t.b.opt.Log.Error("log", "job", j.rec.ID, "error", e)
		}
	}
	p := j.rec.EditPart(part)
	p.Out, p.Err = 0, 0
}
