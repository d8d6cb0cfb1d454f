package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// logUse is how much output is kept of each user's jobs. It belongs to the loop. The
// folders are measured at the start and whenever old ones are dropped; in between,
// what comes is added.
type logUse struct {
	measured map[uint32]int64 // by owner, when they were measured last
	since    map[uint32]int64 // that came since that began
	counting map[uint32]int64 // that came since the measuring now under way began
}

func (u *logUse) of(owner uint32) int64 { return u.measured[owner] + u.since[owner] }

func (u *logUse) add(owner uint32, n int64) {
	if u.since == nil {
		u.since = map[uint32]int64{}
	}
	u.since[owner] += n
	if u.counting != nil {
		u.counting[owner] += n
	}
}

// measureLogs finds out how much output is kept of whom.
func (b *Broker) measureLogs(ctx context.Context) {
	if b.opt.MaxLog <= 0 {
		return
	}
	if b.askLoop(ctx, func(t *turn) { t.b.logUse.counting = map[uint32]int64{} }) != nil {
		return
	}
	use, err := b.countLogs(ctx)
	if err != nil {
		if ctx.Err() == nil {
			b.opt.Log.Error("measuring the logs of jobs", "error", err)
		}
		return
	}
	b.postToLoop(func(t *turn) {
		u := &t.b.logUse
		u.measured, u.since, u.counting = use, u.counting, nil
	})
}

// countLogs adds up the bytes of all logs by the owners of the jobs.
func (b *Broker) countLogs(ctx context.Context) (map[uint32]int64, error) {
	use := map[uint32]int64{}
	entries, err := os.ReadDir(filepath.Join(b.opt.State, "logs"))
	if errors.Is(err, fs.ErrNotExist) {
		return use, nil
	}
	for _, e := range entries {
		owner := uint32(0)
		if b.opt.Users != nil {
			rec, err := b.opt.Store.FindJob(ctx, e.Name())
			if errors.Is(err, store.ErrNoJob) {
				continue
			}
			if err != nil {
				return nil, err
			}
			owner = rec.Owner
		}
		files, err := os.ReadDir(filepath.Join(b.opt.State, "logs", e.Name()))
		if err != nil {
			continue // dropped meanwhile
		}
		for _, f := range files {
			if info, err := f.Info(); err == nil {
				use[owner] += info.Size()
			}
		}
	}
	return use, err
}

// isLogFull says whether output of a job is not to be kept because its user's jobs
// have written as much as one user may.
func (t *turn) isLogFull(j *job, more int) bool {
	limit := t.b.opt.MaxLog
	return limit > 0 && more > 0 && t.b.logUse.of(j.rec.Owner)+int64(more) > limit
}

// cutLog ends what is kept of a job's output with a line that says why.
func (t *turn) cutLog(j *job, part int, m *wire.Message) {
	why := fmt.Sprintf("the output of your jobs takes %s, as much as is kept for one user (limits.log in the broker's "+
		"settings)",
		core.FormatBytes(t.b.opt.MaxLog))
	line := "\n[godwit: output cut here: " + why + "]\n"
	if e := t.b.jobLog(j, part, m.Stream).WriteAt([]byte(line), m.Offset); e != nil {
		t.b.opt.Log.Error("log", "job", j.rec.ID, "error", e)
	}
	t.outputCut(j, why)
}

// outputCut notes, once, that output of a job is not kept from now on.
func (t *turn) outputCut(j *job, why string) {
	if j.rec.OutputCut {
		return
	}
	j.rec.OutputCut = true
	t.explainJob(j, "output", "cut", why, nil)
	if len(j.rec.Warnings) < maxWarnings {
		j.rec.Warnings = append(slices.Clone(j.rec.Warnings), "output cut: "+why)
	}
}
