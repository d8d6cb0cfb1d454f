package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker/transfer"
	"github.com/godwit-hpc/godwit/internal/live/userfiles"
	"github.com/godwit-hpc/godwit/internal/observe/history"
)

// How long is waited before results that could not be brought home are tried
// again: a moment that doubles while there is hope, else much longer.
const (
	minReturnDelay   = time.Second
	maxReturnDelay   = 30 * time.Second
	strandedInterval = 10 * time.Minute
)

// homeward is a job whose results are on their way home, and how far they are.
// The commands of its job, one after the other, and the loop have it in turn.
type homeward struct {
	j         *job
	placed    *userfiles.Placed // nil: its files are not in their place
	notHome   error             // why not
	written   bool              // its output is in the files that its user named
	unwritten error             // why not
	left      bool              // what is to be left elsewhere was
	notLeft   error             // or was not, because of this
	missing   []string          // outputs that its user named and that are not there
	told      bool              // all of this was told to those who wait
	failed    int               // tries that failed for reasons that may pass
	wait      time.Duration
	said      string // what was last explained
}

// returnResults puts what a job changed in its work folder back where it came from,
// and what is to be left elsewhere there.
// It is repeated after a crash: putting a file there twice is putting it there
// once.
func (b *Broker) returnResults(j *job) {
	h := &homeward{j: j, wait: minReturnDelay}
	j.line.addTask(b.runInBackground, func() { b.returnOnce(h) })
}

// returnLater brings results home after a while. Nothing that is to be done for
// the job waits so long: releasing what it ran in may be what makes room.
func (b *Broker) returnLater(h *homeward, wait time.Duration) {
	b.runUntilStopped(func(ctx context.Context) {
		if clock.SleepContext(ctx, wait) {
			h.j.line.addTask(b.runInBackground, func() { b.returnOnce(h) })
		}
	})
}

// returnOnce is one try. As long as results are not home their tree stays in the depot.
func (b *Broker) returnOnce(h *homeward) {
	began, j := b.brokerTime(), h.j
	b.putBackResults(h)
	h.missing = b.missingOutputs(j)
	if !h.left {
		h.notLeft, h.left = b.leaveAll(j.asOwner(b.ctx), j), true
	}
	if b.ctx.Err() != nil {
		return
	}
	givenUp, err := "", errors.Join(h.notHome, h.unwritten)
	expired := b.opt.KeepJobs > 0 && began.Sub(j.rec.Ended) >= b.opt.KeepJobs
	switch {
	case errors.Is(h.notHome, depot.ErrBadTree): // a tree is known by its content: this one stays what it is
		givenUp, err = "the cluster sent an invalid list of files; not retried", h.unwritten
	case expired:
		givenUp = "not kept any longer"
	}
	if err != nil && !expired && h.mayPass(err) {
		b.postToLoop(func(t *turn) { t.retryReturn(h, oneLine(err)) })
		return
	}
	b.handOverResults(j, map[inheritance]string{}, func(t *turn) {
		if h.notHome == nil {
			if j.rec.Result != "" {
				t.recordTransfer(j, history.Transfer{What: history.StageOut, From: j.rec.Cluster, Bytes: h.placed.Bytes,
					Sent: h.placed.Bytes, Seconds: t.now.Sub(began).Seconds()})
			}
			t.resultsReturned(h)
			j.setUnreturned("")
		}
		if !h.told {
			h.told = true
			t.explainOutputs(h)
		}
		if h.notHome != nil {
			t.strandResults(h, givenUp)
		}
		j.rec.StagedOut = h.notHome == nil || givenUp != ""
		t.jobFinished(j)
		t.touchJob(j)
	})
}

// resultsReturned says what there is to say of results that are home.
func (t *turn) resultsReturned(h *homeward) {
	j := h.j
	if h.said != "" {
		t.explainJob(j, "results", "results copied back (after retry)", "", nil)
	}
	if n := h.placed.Aside; n > 0 {
		t.explainJob(j, "results", conflictText(n, h.placed.Names), "", nil)
	}
	if j.rec.Partial && j.rec.Result != "" {
		t.explainJob(j, "results", "partial results copied back", j.partialWhy(), nil)
	}
}

// conflictText tells of results that could not take their place.
func conflictText(n int, names []string) string {
	text := "1 output file conflicts with a local change; the job's version was saved as "
	if n > 1 {
		text = fmt.Sprintf("%d output files conflict with local changes; the job's versions were saved as ", n)
	}
	text += strings.Join(names, ", ")
	if n > len(names) {
		text += ", …"
	}
	return text
}

// partialWhy is from when the files of a job are that did not run to its end.
func (j *job) partialWhy() string {
	if j.rec.FromCheckpoint > 0 {
		return fmt.Sprintf("the files as they were at checkpoint %d: what the program wrote after it is lost",
			j.rec.FromCheckpoint)
	}
	return "the files as they were when the program ended"
}

// missingOutputs are the outputs that a job's user named and that it did not make.
func (b *Broker) missingOutputs(j *job) []string {
	if !j.rec.NamesOutputs || b.opt.Depot == nil || j.rec.Started == 0 {
		return nil
	}
	tree := &depot.Tree{}
	if id := cmp.Or(j.rec.Result, j.rec.Work); id != "" { // without a result it changed nothing
		ctx := j.asOwner(b.ctx)
		chunks, err := b.depotFor(ctx)
		if err == nil {
			tree, err = depot.LoadTree(ctx, chunks, depot.ID(id))
		}
		if err != nil {
			return nil // then they are not home either, which is told
		}
	}
	return slices.DeleteFunc(slices.Clone(j.spec.Outputs), func(output string) bool {
		return output == jobfile.NoOutputs || slices.ContainsFunc(tree.Entries, func(e depot.Entry) bool {
			return userfiles.IsWanted(e.Path, []string{output})
		})
	})
}

// putBackResults works in the folders of the job's user.
func (b *Broker) putBackResults(h *homeward) {
	j := h.j
	home, err := b.filesFor(j.asOwner(b.ctx))
	if h.placed == nil {
		placed, notHome := userfiles.Placed{}, err
		switch {
		case j.rec.Result == "":
			notHome = nil
		case err == nil:
			placed, notHome = home.PutBack(b.ctx,
				&userfiles.Results{Dir: j.spec.Workdir, Before: j.rec.Work, After: j.rec.Result, Outputs: j.spec.Outputs,
					Aside: fmt.Sprintf(".godwit-%d", j.rec.ID), Submitted: int64(j.rec.Submitted),
					Brought: b.brought.FilesBefore(j.rec.Owner, j.spec.Workdir, j.rec.Submitted)})
		}
		if notHome == nil {
			if err := b.brought.AddFiles(j.rec.Owner, j.spec.Workdir, placed.Files, b.brokerTime()); err != nil {
				b.opt.Log.Warn("not remembered what was brought home", "job", j.rec.ID, "error", err)
			}
		}
		if h.notHome = notHome; notHome == nil {
			h.placed = &placed
		}
	}
	if !h.written {
		switch {
		case err == nil:
			h.unwritten = b.writeOutputs(home, j)
		case j.rec.Named:
			h.unwritten = err
		}
		h.written = h.unwritten == nil
	}
}

// mayPass says whether what could not be done may be possible soon: room on a
// disk is waited for, what else may pass is tried a few times.
func (h *homeward) mayPass(err error) bool {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return true
	case transfer.IsHopeless(err):
		return false
	}
	h.failed++
	return h.failed < maxTries
}

// retryReturn has another try made soon.
func (t *turn) retryReturn(h *homeward, why string) {
	if why != h.said {
		h.said = why
		t.explainJob(h.j, "results", "results not copied back yet", why+"; retrying", nil)
		h.j.setUnreturned(why)
		t.touchJob(h.j)
	}
	wait := h.wait
	h.wait = min(2*h.wait, maxReturnDelay)
	t.afterCommit(func() { t.b.returnLater(h, wait) })
}

// strandResults keeps results that cannot be brought home at present: the job is over, to
// all who wait for it, but stays open, so that its results are kept, and tried
// again, also by the next broker; until what jobs wrote is dropped, or they are given up.
func (t *turn) strandResults(h *homeward, givenUp string) {
	why := oneLine(h.notHome) + "; " + givenUp
	if givenUp == "" {
		why = fmt.Sprintf("%s; kept by Godwit, retrying every %.0f minutes and when the broker starts", oneLine(h.notHome),
			strandedInterval.Minutes())
		t.afterCommit(func() { t.b.returnLater(h, strandedInterval) })
	}
	if why != h.said {
		h.said = why
		t.explainJob(h.j, "results", "results not copied back", why, map[string]any{"tree": h.j.rec.Result})
	}
	h.j.setUnreturned(why)
}

// explainOutputs says what became of what a job wrote and of what it leaves elsewhere.
func (t *turn) explainOutputs(h *homeward) {
	j := h.j
	if len(h.missing) > 0 {
		j.rec.Missing = h.missing
		t.explainJob(j, "results", "no such output: "+strings.Join(h.missing, ", "),
			"named in outputs, and not there when the program ended", nil)
	}
	if h.unwritten != nil {
		t.explainJob(j, "results", "output not written to its file", h.unwritten.Error(), nil)
		j.rec.Reason = "its output could not be written to its file: " + h.unwritten.Error()
	}
	if h.notLeft != nil {
		t.explainJob(j, "results", "not staged out", oneLine(h.notLeft), nil)
		j.rec.Reason = "results could not be staged out: " + oneLine(h.notLeft)
	}
}

// setUnreturned adds to the reason of a job why its results are not home; "": they are.
func (j *job) setUnreturned(why string) {
	j.unreturned = why
	const but = "results not copied back"
	was, _, _ := strings.Cut(j.rec.Reason, but)
	was = strings.TrimSuffix(was, "; ")
	if why != "" {
		was = strings.TrimPrefix(was+"; "+but+": "+why, "; ")
	}
	j.rec.Reason = was
}
