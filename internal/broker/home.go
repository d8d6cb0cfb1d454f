package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/history"
)

// bringHome puts what a job changed in its work folder back where it came from.
// It is repeated after a crash: putting a file there twice is putting it there
// once.
func (b *Broker) bringHome(j *job) {
	j.line.add(b.beside, func() {
		began := b.now()
		var bytes int64
		var aside int
		var err error
		if j.rec.Result != "" {
			bytes, aside, err = b.putBack(b.ctx, j)
		}
		unwritten := b.writeOutputs(j)
		if b.ctx.Err() != nil {
			return
		}
		b.handOn(j, map[inheritance]string{}, func(t *turn) {
			switch {
			case err != nil:
				// The tree stays in the depot as long as the job is known.
				t.explain(j, "results", "not brought home", err.Error(), map[string]any{"tree": j.rec.Result})
				j.rec.Reason = "its results could not be brought home: " + err.Error()
			case aside > 0:
				t.explain(j, "results", "brought home", fmt.Sprintf("%d files had been changed meanwhile: the job's lie beside them, named .godwit-%d", aside, j.rec.ID), nil)
			}
			if unwritten != nil {
				t.explain(j, "results", "output not written to its file", unwritten.Error(), nil)
				j.rec.Reason = "its output could not be written to its file: " + unwritten.Error()
			}
			if j.rec.Result != "" {
				t.moved(j, history.Transfer{What: history.StageOut, From: j.rec.Cluster, Bytes: bytes, Sent: bytes, Seconds: t.now.Sub(began).Seconds()})
			}
			j.rec.StagedOut = true
			t.finished(j)
			t.touch(j)
		})
	})
}

// putBack writes the changed files. Those that somebody else changed meanwhile
// are not overwritten: ours goes beside them.
func (b *Broker) putBack(ctx context.Context, j *job) (bytes int64, aside int, err error) {
	after, err := depot.LoadTree(ctx, b.opt.Depot, depot.ID(j.rec.Result))
	if err != nil {
		return 0, 0, err
	}
	before := &depot.Tree{}
	if j.rec.Work != "" {
		if before, err = depot.LoadTree(ctx, b.opt.Depot, depot.ID(j.rec.Work)); err != nil {
			return 0, 0, err
		}
	}
	was := map[string]depot.Entry{}
	for _, e := range before.Entries {
		was[e.Path] = e
	}
	changed, _ := depot.Differ(before, after)
	var mine []depot.Entry
	for _, e := range changed {
		if !wanted(e.Path, j.spec.Outputs) {
			continue
		}
		if e.Mode.IsRegular() && disturbed(filepath.Join(j.spec.Workdir, e.Path), was[e.Path], e) {
			e.Path += fmt.Sprintf(".godwit-%d", j.rec.ID)
			aside++
		}
		bytes += e.Size
		mine = append(mine, e)
	}
	return bytes, aside, depot.Apply(ctx, b.opt.Depot, j.spec.Workdir, mine, nil)
}

// wanted reports whether a file is to be brought home: all are unless the user
// named some, with * and ? if need be, or a folder.
func wanted(name string, outputs []string) bool {
	if len(outputs) == 0 {
		return true
	}
	for _, o := range outputs {
		o = path.Clean(o)
		if ok, err := path.Match(o, name); err == nil && ok {
			return true
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if ok, err := path.Match(o, dir); err == nil && ok {
				return true
			}
		}
	}
	return false
}

// disturbed reports whether a file of the user is not what the job began with,
// nor what we put there ourselves before a crash.
func disturbed(file string, was, now depot.Entry) bool {
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		return false
	}
	if err != nil {
		return true
	}
	same := func(e depot.Entry) bool {
		return e.Path != "" && info.Size() == e.Size && info.ModTime().UnixNano() == e.ModTime
	}
	return !same(was) && !same(now)
}
