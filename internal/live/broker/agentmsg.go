package broker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// greetAgent tells an agent that has just come what it may have missed.
func (t *turn) greetAgent(j *job, l *link) {
	l.sendOrder(wire.Order{Kind: wire.Ack, Seq: j.rec.LastMessage(l.part)})
	switch w, live := t.b.eng.FindJob(j.rec.ID); {
	case !live || w.State != core.Stopping:
	case w.Cancelled:
		l.sendOrder(wire.Order{Kind: wire.Cancel, Within: t.graceLeft(w.Due), Epoch: j.rec.Epoch, Serial: j.rec.StopOrder})
	default:
		l.sendOrder(wire.Order{Kind: wire.Stop, By: w.Due, Epoch: j.rec.Epoch, Serial: j.rec.StopOrder})
	}
	if j.rec.SaveOrder != 0 {
		l.sendOrder(wire.Order{Kind: wire.Save, Epoch: j.rec.Epoch, Serial: j.rec.SaveOrder})
	}
	if isSplitOver(&j.rec) {
		t.beginParts(j)
		t.endOthers(j)
	}
	t.tellSize(j, l)
	t.tellSuspended(j, []*link{l})
	if j.rec.Redated {
		t.tellDeadline(j, []*link{l})
	}
	j.mu.Lock()
	if j.watching {
		l.sendOrder(wire.Order{Kind: wire.Watch, Every: t.b.watchEvery()})
	}
	j.mu.Unlock()
}

// numberOrder is the number of the next order to the agents of a job. It is durable with the turn:
// an order that matters is given again, with its number, to an agent that comes back, until it
// is answered.
func (t *turn) numberOrder(j *job) uint64 {
	j.rec.Orders++
	t.touchJob(j)
	return j.rec.Orders
}

// saveAnswered: a checkpoint that was ordered need not be ordered again.
func (t *turn) saveAnswered(j *job) {
	if j.rec.SaveOrder != 0 {
		j.rec.SaveOrder = 0
		t.touchJob(j)
	}
}

// takeMessage takes in a message of an agent. Numbered ones are acknowledged once what
// they brought about is durable; those that are durable already, at once.
func (t *turn) takeMessage(j *job, l *link, hello, m *wire.Message) {
	if !isPresent(j, hello) {
		l.sendOrder(wire.Order{Kind: wire.Ack, Seq: m.Seq}) // of an attempt that is past: it need not say it again
		return
	}
	if m.Kind == wire.Status {
		if l.part == 0 { // which stands for all
			t.recordVitals(j, m.State)
			t.tellProgress(j)
		}
		return
	}
	if l.deaf {
		return
	}
	if m.Seq > j.rec.LastMessage(l.part) {
		switch {
		case !t.underWay(j):
		case m.Kind == wire.Accepted:
			t.sizeAccepted(j, l.part, m)
		case m.Kind == wire.SizeWanted:
			t.sizeWanted(j, l.part, m)
		case m.Kind != wire.Output:
			t.applyMessage(j, l.part, m)
		case !t.keepOutput(j, l.part, m):
			l.deaf = true // it says this, and what follows, again when it has reconnected
			t.afterCommit(l.closeLink)
			return
		}
		if isPresent(j, hello) { // else it was its last word, and a new attempt has begun
			j.rec.SetLastMessage(l.part, m.Seq)
		}
		t.touchJob(j)
	}
	t.afterCommit(func() { l.sendOrder(wire.Order{Kind: wire.Ack, Seq: m.Seq}) })
}

// underWay reports whether the attempt has not told its end yet. An agent that
// took over from one that died may tell it again.
func (t *turn) underWay(j *job) bool {
	w, live := t.b.eng.FindJob(j.rec.ID)
	return live && w.Epoch == j.rec.Epoch && w.Parts > 0
}

func (t *turn) applyMessage(j *job, part int, m *wire.Message) {
	if isSplitOver(&j.rec) {
		t.applyPartMessage(j, part, m)
		return
	}
	t.recordVitals(j, m.State)
	switch m.Kind {
	case wire.Running:
		t.programRuns(j, m)
	case wire.Violated:
		t.contractViolated(j, m)
	case wire.Ask:
		t.deadlineInDanger(j, m)
	case wire.Checkpoint:
		t.savedNow(j, m.Saved, j.isSaveOrdered() || j.rec.SaveOrder != 0)
		t.saveAnswered(j)
	case wire.NotSaved:
		t.saveAnswered(j)
		t.explainReport(j, "checkpoint", "failed", m.Why, nil)
		t.afterCommit(func() { j.answerSaves(saveResult{err: m.Why}) })
	case wire.StaysOn:
		t.staysOn(j, m.Why)
	case wire.Left:
		t.programLeft(j, m)
	case wire.Ended:
		cluster := j.rec.Cluster
		t.afterCommit(func() { t.b.recordCarried(cluster, "", m.Carried) })
		t.releaseEnded(j, j.rec.Epoch, part)
		t.programEnded(j, m)
	case wire.Lost:
		t.attemptLost(j, part, m)
	case wire.Collecting:
		t.stepEngine(&core.Input{Kind: core.Collecting, Job: j.rec.ID, Epoch: j.rec.Epoch})
	case wire.Suspended:
		t.agentSuspended(j, m.Why)
	case wire.Note:
		t.agentNote(j, m.Entry)
	}
}

// maxAgentNotes bounds what agents of one job may add to its explanation between
// two starts of the broker: notes are stored and shown, and an agent may say anything.
const maxAgentNotes = 1000

// maxAgentReports bounds likewise what is explained because the agents of one job reported a start
// or a checkpoint.
const maxAgentReports = 10_000

// explainReport explains what an agent reported.
func (t *turn) explainReport(j *job, kind, choice, why string, inputs map[string]any) {
	switch j.agentReports++; {
	case j.agentReports <= maxAgentReports:
		t.explainJob(j, kind, choice, why, inputs)
	case j.agentReports == maxAgentReports+1:
		t.explainJob(j, "note", "further starts and checkpoints are not explained",
			fmt.Sprintf("the job's agents reported more than %d", maxAgentReports), nil)
	}
}

// staysOn: the program was to leave, could not be saved, and runs on. Nobody else can say so.
func (t *turn) staysOn(j *job, why string) {
	before, events := j.rec.Reason, len(t.batch.Events)
	j.rec.Reason = why
	t.stepEngine(&core.Input{Kind: core.StaysOn, Job: j.rec.ID, Epoch: j.rec.Epoch})
	if len(t.batch.Events) == events { // it was not to leave
		j.rec.Reason = before
		return
	}
	t.explainJob(j, "stay", "checkpoint failed", why, nil)
}

// agentNote adds what an agent noted to the explanation of its job.
func (t *turn) agentNote(j *job, e *wire.Entry) {
	if e == nil || j.agentNotes > maxAgentNotes {
		return
	}
	if j.agentNotes++; j.agentNotes > maxAgentNotes {
		t.explainJob(j, "note", "further notes are dropped", fmt.Sprintf("the job's agents made more than %d", maxAgentNotes),
			nil)
		return
	}
	e.At = t.now // the agent's clock is not ours
	t.addEntry(j, *e)
	t.keepWarning(j, e)
}

// maxWarnings is how many are kept with a job.
const maxWarnings = 10

// keepWarning keeps what the user of a job is to see with it.
func (t *turn) keepWarning(j *job, e *wire.Entry) {
	if e.Kind == "warning" && len(j.rec.Warnings) < maxWarnings {
		j.rec.Warnings = append(slices.Clone(j.rec.Warnings), e.Choice+": "+e.Why)
	}
}

// programRuns: the program runs. What a later attempt wrote after the checkpoint
// that this one continues will be written again.
func (t *turn) programRuns(j *job, m *wire.Message) {
	var out, err int64
	choice := "from the beginning"
	j.begunIO = 0
	if s := m.Saved; s != nil {
		out, err, j.begunIO = s.Out, s.Err, s.IO
		choice = fmt.Sprintf("from checkpoint %d", s.N)
		if m.State != nil {
			t.recordTransfer(j, history.Transfer{What: history.Restore, To: j.rec.Cluster, Method: m.Method, Bytes: s.Bytes,
				Seconds: max(m.State.Prepared, m.State.Wall)})
		}
	}
	if m.Saved != nil || j.spec.Setup+j.spec.Build.Command == "" {
		t.truncateOutput(j, out, err)
	} // else it goes on behind what came before the program, which its agent began anew
	t.dropSaved(j, func(s *wire.Saved) bool { return m.Saved == nil || s.N > m.Saved.N })
	j.rec.Method = m.Method
	if len(m.Hosts) > 0 {
		j.rec.Hosts = m.Hosts
	}
	cluster := j.rec.Cluster
	t.afterCommit(func() { t.b.recordCarried("", cluster, m.Carried) })
	t.explainReport(j, "start", "on "+j.rec.Cluster+" "+choice, "checkpoint method: "+methodText(m.Method), nil)
	t.stepEngine(&core.Input{Kind: core.Started, Job: j.rec.ID, Epoch: j.rec.Epoch})
}

// methodText is a checkpoint method in words.
func methodText(method string) string {
	if method == "restart" {
		return "none (restart from scratch)"
	}
	return method
}

// truncateOutput cuts what a program wrote to where it goes on.
func (t *turn) truncateOutput(j *job, out, err int64) {
	for stream, n := range map[int]int64{1: out, 2: err} {
		was := &j.rec.Out
		if stream == 2 {
			was = &j.rec.Err
		}
		if *was > n {
			if e := t.b.jobLog(j, 0, stream).TruncateAt(n); e != nil {
				t.b.opt.Log.Error("log", "job", j.rec.ID, "error", e)
			}
		}
		*was = min(*was, n)
	}
}

// dropSaved forgets checkpoints that are of no use any more. An attempt that
// continues an older one, because the newer could not be used, writes again what
// was written between the two: the newer one does not belong to that.
func (t *turn) dropSaved(j *job, useless func(*wire.Saved) bool) {
	j.saved = slices.DeleteFunc(slices.Clone(j.saved), func(s wire.Saved) bool {
		if !useless(&s) {
			return false
		}
		t.forgetCheckpoint(j, s.N)
		return true
	})
}

// keepOutput keeps what a program wrote. It reports false if that could not be written,
// for whatever reason: the agent keeps it, and says it again.
func (t *turn) keepOutput(j *job, part int, m *wire.Message) bool {
	if j.rec.Method == "" { // it has not said yet from where it goes on: from here
		t.dropSaved(j, func(s *wire.Saved) bool {
			return m.Stream == 1 && s.Out > m.Offset || m.Stream == 2 && s.Err > m.Offset
		})
	}
	if j.rec.OutputCut {
		return true
	}
	if t.isLogFull(j, len(m.Data)) {
		t.cutLog(j, part, m)
		return true
	}
	if e := t.b.jobLog(j, part, m.Stream).WriteAt(m.Data, m.Offset); e != nil {
		if w, live := t.b.eng.FindJob(j.rec.ID); live && w.Cancelled { // what it wrote last must not keep it from ending
			t.outputCut(j, "it was cancelled, and its output could not be written: "+e.Error())
			return true
		}
		t.b.opt.Log.Error("output of a job could not be written; its agent keeps it and sends it again", "job", j.rec.ID,
			"error", e)
		return false
	}
	t.b.logUse.add(j.rec.Owner, int64(len(m.Data)))
	end := m.Offset + int64(len(m.Data))
	j.rec.SetOutputLength(part, m.Stream, end)
	return true
}

// checkpointsKept is how many checkpoints of a job are kept: should the newest turn out
// damaged, there is another.
const checkpointsKept = 3

// savedNow: a checkpoint is safe. Whether it was ordered decides where it may be
// continued, see portableSaved.
func (t *turn) savedNow(j *job, s *wire.Saved, ordered bool) {
	if s == nil {
		return
	}
	j.rec.Checkpoints++
	saved := *s
	saved.N, saved.At, saved.Cluster, saved.Ordered = j.rec.Checkpoints, t.now, j.rec.Cluster, ordered
	j.rec.Used = saved.Used
	j.saved = append([]wire.Saved{saved}, j.saved...)
	t.batch.Checkpoints = append(t.batch.Checkpoints, store.Checkpoint{Job: j.rec.ID, Saved: saved})
	for len(j.saved) > checkpointsKept {
		t.forgetCheckpoint(j, j.saved[checkpointsKept].N)
		j.saved = j.saved[:checkpointsKept]
	}
	t.recordTransfer(j, history.Transfer{What: history.Save, From: j.rec.Cluster, Method: saved.Method, Bytes: saved.Bytes,
		Sent:    saved.Moved,
		Seconds: saved.Took.Seconds(), Frozen: saved.Frozen.Seconds()})
	cluster := j.rec.Cluster
	t.afterCommit(func() { t.b.recordCarried(cluster, "", wire.Carried{Bytes: saved.Moved, Took: saved.Sending}) })
	t.explainReport(j, "checkpoint", fmt.Sprintf("checkpoint %d saved", saved.N),
		fmt.Sprintf("%s, %s of it sent; the program was frozen for %.2f s", core.FormatBytes(saved.Bytes),
			core.FormatBytes(saved.Moved), saved.Frozen.Seconds()),
		map[string]any{"bytes": saved.Bytes, "moved": saved.Moved, "frozen_s": saved.Frozen.Seconds(),
			"took_s": saved.Took.Seconds()})
	t.afterCommit(func() { j.answerSaves(saveResult{saved: &saved}) })
}

func (t *turn) forgetCheckpoint(j *job, n int) {
	t.batch.Forget = append(t.batch.Forget, store.CheckpointID{Job: j.rec.ID, N: n})
}

func (t *turn) recordTransfer(j *job, x history.Transfer) {
	x.At, x.Job, x.Epoch = t.now, j.rec.ID, j.rec.Epoch
	x.Program, _ = history.SplitCommand(j.spec.Argv)
	t.batch.Transfers = append(t.batch.Transfers, x)
}

// programLeft: the program was stopped as it was told, or left by itself.
func (t *turn) programLeft(j *job, m *wire.Message) {
	if t.wasPreempted(j, m) {
		t.attemptLost(j, 0, m)
		return
	}
	if m.Saved == nil && len(j.saved) == 0 {
		t.truncateOutput(j, 0, 0) // it starts from the beginning
	}
	w, live := t.b.eng.FindJob(j.rec.ID)
	t.savedNow(j, m.Saved, live && w.State == core.Stopping)
	t.releaseEnded(j, j.rec.Epoch, 0)
	t.stepEngine(&core.Input{Kind: core.Left, Job: j.rec.ID, Epoch: j.rec.Epoch})
}

// programEnded: the program has ended.
func (t *turn) programEnded(j *job, m *wire.Message) {
	j.rec.Result = m.Result
	if m.Result != "" && j.spec.Workdir == "" {
		j.rec.Result = "" // nobody wants it
	}
	j.rec.Outgoing, j.toldEnd = m.Outgoing, true
	if m.Code != 0 {
		j.failureText = strings.TrimSpace(m.Why)
	}
	t.stepEngine(&core.Input{Kind: core.Ended, Job: j.rec.ID, Epoch: j.rec.Epoch, ExitCode: m.Code})
	j.failureText = ""
	if !j.rec.State.IsTerminal() { // it is started again
		j.rec.Result, j.rec.Outgoing, j.toldEnd = "", "", false
		return
	}
	if m.Why != "" && m.Code != 0 {
		j.rec.Reason, j.rec.Failure = strings.TrimSpace(m.Why), m.Cause
	}
}

// recordVitals notes how a job is doing.
func (t *turn) recordVitals(j *job, v *wire.Vitals) {
	if v == nil {
		return
	}
	j.setVitals(v, t.now)
	t.noteOutlook(j, v)
	j.rec.Known = v.Chance >= 0
	if j.rec.Known {
		j.rec.Chance = v.Chance
	}
	t.afterCommit(j.signalChange)
}
