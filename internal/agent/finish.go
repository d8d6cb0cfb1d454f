package agent

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// Files that say how the attempt ended.
const (
	exitFile  = "exit.json"
	endedFile = "ended.json"
	knownFile = "known"
)

// acknowledgedAtOnce is how long the broker may take so that what it was told
// last need not be made safe here as well.
const acknowledgedAtOnce = 300 * time.Millisecond

// finishAttempt brings home what the program left in its work folder and then says how
// the attempt ended.
func (l *life) finishAttempt(m wire.Message) {
	l.phase = finishing
	stopTimer(&l.limit)
	l.helpers.EndHelpers()
	if m.State == nil {
		v := l.currentVitals()
		if l.watch != nil && m.Kind == wire.Ended {
			v.Deviations = l.watch.BandDeviations()
		}
		m.State = &v
	}
	if m.Kind != wire.Ended || !l.ranOnce {
		l.concludeAttempt(m)
		return
	}
	r := l.workResult()
	if r.same {
		m.Result = r.id
		l.concludeAttempt(m)
		return
	}
	if l.cancelled {
		l.outbox.QueueMessage(wire.Message{Kind: wire.Collecting})
	}
	l.keepEnding(endedFile, ended{m}) // if we die while the result is on its way, the next agent brings it
	l.bringResult(m)
}

// bringResult pushes the work folder, as long as it takes, and concludes.
func (l *life) bringResult(m wire.Message) {
	store := l.around.depot(l.attempt.Broker)
	m.Outgoing = l.setAside()
	same := unchangedPatterns(l.folder.workDir(), l.placedInputs())
	l.runInBackground(func(ctx context.Context) (func(), func()) {
		var id depot.ID
		said, tries := false, 0
		hope := func(err error) time.Duration {
			switch {
			case isAway(err):
				return l.around.longestTry
			case !httpdepot.IsTroubled(err):
				return 0 // the reason is here, and stays
			case !said:
				said = true
				l.callOwner(ctx, func() { l.sendNote("results", "files not copied back yet", err.Error(), nil) })
			}
			return 30 * l.around.longestTry // each try reads all of the folder
		}
		err := l.around.retryWhile(ctx, hope, func() (err error) {
			tries++
			id, _, _, err = depot.PushFolder(ctx, l.folder.workDir(), store, depot.PushOptions{Exclude: same})
			return err
		})
		return func() {
			m.Result = string(id)
			if t := store.Traffic(); err == nil && tries == 1 {
				m.Carried = wire.Carried{Bytes: t.Sent, Took: t.Busy}
			}
			if err != nil {
				m.Result = ""
				m.Why = strings.TrimPrefix(m.Why+"; its files could not be brought back: "+err.Error(), "; ")
			}
			l.concludeAttempt(m)
		}, nil
	})
}

// result is the work folder compared with what it was.
type result struct {
	same bool   // as what was fetched
	id   string // then: its tree, if that is not the one the job was submitted with
}

func (l *life) workResult() result {
	if inputs := l.placedInputs(); len(inputs) > 0 {
		return result{same: l.before.id == l.attempt.Work &&
			isUnchanged(l.folder.workDir(), withInputs(l.before.tree, inputs))}
	}
	if l.before.tree == nil {
		list, err := os.ReadDir(l.folder.workDir())
		return result{same: err == nil && len(list) == 0}
	}
	if !isUnchanged(l.folder.workDir(), l.before.tree) {
		return result{}
	}
	if l.before.id == l.attempt.Work {
		return result{same: true}
	}
	return result{same: true, id: l.before.id}
}

// before is what the work folder held when the program began.
type before struct {
	tree *depot.Tree // nil: nothing
	id   string
}

// isUnchanged says whether dir holds what the tree says, by names, kinds, sizes
// and times. What cannot be in a tree (sockets, devices) does not count.
func isUnchanged(dir string, tree *depot.Tree) bool {
	entries := make(map[string]*depot.Entry, len(tree.Entries))
	for i := range tree.Entries {
		entries[tree.Entries[i].Path] = &tree.Entries[i]
	}
	found, differs := 0, false
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		if t := d.Type(); t&(fs.ModeSocket|fs.ModeDevice|fs.ModeNamedPipe|fs.ModeIrregular) != 0 {
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !sameEntry(entries[filepath.ToSlash(rel)], info, path) {
			differs = true
			return fs.SkipAll
		}
		found++
		return nil
	})
	return err == nil && !differs && found == len(entries)
}

func sameEntry(e *depot.Entry, info fs.FileInfo, path string) bool {
	if e == nil || e.Mode.Type() != info.Mode().Type() {
		return false
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		return err == nil && to == e.Link
	case info.IsDir():
		return e.Mode.Perm() == info.Mode().Perm()
	}
	return e.Mode.Perm() == info.Mode().Perm() && e.Size == info.Size() && e.ModTime == info.ModTime().UnixNano()
}

// concludeAttempt says how the attempt ended, once that is written down.
func (l *life) concludeAttempt(m wire.Message) {
	l.phase = concluded
	m.Cause = l.endingCause(&m)
	l.keepEnding(exitFile, m)
	if m.Saved != nil && m.Kind == wire.Left {
		l.outbox.SayBehind(m, m.Saved.Out, m.Saved.Err)
		l.outbox.Held = true // what came later is written anew by who continues
	} else {
		l.outbox.SayLast(m)
	}
	l.secure = time.NewTimer(acknowledgedAtOnce)
}

// diskRetryInterval is how long a full disk is left alone before it is tried again.
const diskRetryInterval = 200 * time.Millisecond

// keepEnding writes down how the attempt ended, in place of what was to be kept before.
// The output comes first: an agent after us that found the end, and not what was
// written before it, would tell a job that ended well and said less. While the
// disk takes neither we go on, and try again.
func (l *life) keepEnding(name string, end any) {
	l.unkept = func() error {
		if !l.spool.FlushMemory() {
			return errors.New("the disk does not take the output")
		}
		return l.folder.writeJSON(name, end, false)
	}
	if err := l.keepEndingNow(); err != nil {
		l.around.log.Error("not remembered yet", "error", err) // we tell it all the same
	}
}

// retryKeepEnding tries again to write down how the attempt ended.
func (l *life) retryKeepEnding() {
	if l.keepEndingNow() == nil && l.phase == concluded {
		l.secure = time.NewTimer(acknowledgedAtOnce)
	}
}

func (l *life) keepEndingNow() error {
	stopTimer(&l.keepAgain)
	err := l.unkept()
	if err != nil {
		l.keepAgain = time.NewTimer(diskRetryInterval)
	}
	return err
}

// secureExit makes what was said last survive the loss of power: the broker
// takes longer than usual to do that.
func (l *life) secureExit() {
	stopTimer(&l.secure)
	err := l.spool.SyncFiles()
	if err == nil {
		err = l.folder.syncFile(exitFile)
	}
	if err != nil {
		l.around.log.Error("not made safe", "error", err)
	}
}
