package broker

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/live/userfiles"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// A job that waits for others was sent its work folder when it was submitted, and
// is to find in it what those others wrote there since. So when one of them comes
// home, what it changed is put into the folders of those who wait for it, and of
// those who wait for them: where they had the same as it had at its beginning.
//
// The elements of an array wait for the same, unless each waits for one of another array
// (aftercorr), and may be a hundred thousand, of which the engine knows some. So their working
// directory is that of the array as long as they wait; each gets it into its record when it
// is released. Until then the record of the first that waits is written, and that of
// the array for those that have none, for a broker that comes after.

// inheritance is a work folder: its tree, and where it comes from.
type inheritance struct{ work, dir string }

// maxHandedOverPerTurn is how many records of those who wait for a job are written together:
// very many may wait for the same, and others wait for the turn.
const maxHandedOverPerTurn = 500

// handOverResults makes the work folders of those who wait for a job that came home, gives
// them to these a few in a turn, and finishes it with the last. If somebody came
// meanwhile, or another came home to them, what is missing is made first. A broker that ends
// half-way leaves nothing wrong: to put the same results into a work folder again changes nothing.
func (b *Broker) handOverResults(j *job, made map[inheritance]string, finish func(*turn)) {
	var folders []folderReceiver
	if b.askLoop(b.ctx, func(t *turn) { folders = t.foldersOf(j) }) != nil {
		return
	}
	for _, m := range missingFolders(folders, made) {
		work, err := b.mergeResults(j.asOwner(b.ctx), &j.rec, j.spec, m.dir, m.work)
		if err != nil {
			b.opt.Log.Error("results for those who wait", "of", j.rec.ID, "error", err)
			work = m.work
		}
		made[m], made[inheritance{work, m.dir}] = work, work
	}
	for ; len(folders) > maxHandedOverPerTurn; folders = folders[maxHandedOverPerTurn:] {
		if b.askLoop(b.ctx, func(t *turn) { t.assignWorkFolders(folders[:maxHandedOverPerTurn], made) }) != nil {
			return
		}
	}
	b.postToLoop(func(t *turn) {
		folders := t.foldersOf(j)
		if len(missingFolders(folders, made)) == 0 && t.assignWorkFolders(folders, made) {
			finish(t)
			return
		}
		t.afterCommit(func() { j.line.addTask(b.runInBackground, func() { b.handOverResults(j, made, finish) }) })
	})
}

// resultReceivers are those who get another work folder when a job comes home.
func (t *turn) resultReceivers(j *job) []*job {
	if j.rec.Result == "" && !j.rec.Named || t.b.opt.Depot == nil {
		return nil
	}
	t.addCorresponding(j)
	t.enterWaiting()
	return slices.DeleteFunc(t.allWaiters(j), func(w *job) bool { return w.rec.Work == "" })
}

// folderReceiver is a job with the work folder that it has now.
type folderReceiver struct {
	job *job
	has inheritance
}

func (t *turn) foldersOf(j *job) []folderReceiver {
	var list []folderReceiver
	for _, w := range t.resultReceivers(j) {
		list = append(list, folderReceiver{w, inheritance{t.b.workOf(w), w.spec.Workdir}})
	}
	return list
}

// missingFolders are the work folders that are not made yet. The jobs of an array have the same.
func missingFolders(of []folderReceiver, made map[inheritance]string) []inheritance {
	seen := map[inheritance]bool{}
	var list []inheritance
	for _, r := range of {
		if _, ok := made[r.has]; !ok && !seen[r.has] {
			seen[r.has] = true
			list = append(list, r.has)
		}
	}
	return list
}

// assignWorkFolders gives jobs the work folders that were made for them, as many as a turn may.
// It is false if some are left.
func (t *turn) assignWorkFolders(to []folderReceiver, made map[inheritance]string) bool {
	assigned := 0
	for _, r := range to {
		w, was, work := r.job, r.has.work, made[r.has]
		if work == was || w.spec == nil || t.b.workOf(w) != was { // the last two: since it was looked at
			continue
		}
		if assigned++; assigned > maxHandedOverPerTurn {
			return false
		}
		// those that follow find it too
		if a := t.b.partial[w.rec.Parent]; a != nil && len(a.Each) == 0 && a.Template.Work == was {
			a.Template.Work = work
			t.keepArray(a)
		}
		w.rec.Work = work
		if w.sharesWork {
			t.b.arrays[w.rec.Parent].work = work
		}
		t.touchJob(w)
	}
	return true
}

// waitsLikeItsArray reports whether all elements of a job's array wait for the same.
func (j *job) waitsLikeItsArray() bool {
	return j.rec.Parent != 0 && len(j.rec.After) > 0 &&
		!slices.ContainsFunc(j.spec.After, func(d jobfile.Dependency) bool { return d.Each })
}

// workOf is the working directory that a job is to begin with.
func (b *Broker) workOf(j *job) string {
	if a := b.arrays[j.rec.Parent]; j.sharesWork && a != nil && a.work != "" {
		return a.work
	}
	return j.rec.Work
}

// noteWait notes that a job waits for others, or that it does so no more.
func (t *turn) noteWait(j *job, waits bool) {
	if waits {
		j.sharesWork = j.waitsLikeItsArray()
		return
	}
	if j.sharesWork {
		j.rec.Work, j.sharesWork = t.b.workOf(j), false
		t.touchJob(j)
		if t.released == nil {
			t.released = map[core.JobID]*job{}
		}
		t.released[j.rec.Parent] = j
	}
}

// touchFirstWaiting has the record of the first element written that still waits, of the
// arrays of which some have been released: it says what the others have.
func (t *turn) touchFirstWaiting() {
	for array, j := range t.released {
		wait := j.rec.After[0]
		id := t.b.eng.NextWaiter(wait.Job, arrayOfWait(wait), array-1)
		if w := t.b.jobs[id]; w != nil && w.rec.Parent == array && w.sharesWork {
			w.rec.Work = t.b.workOf(w)
			t.touchJob(w)
		}
	}
}

// arrayOfWait is the array that is waited for; 0 if it is a job.
func arrayOfWait(w store.Wait) core.JobID {
	if w.Array {
		return w.Job
	}
	return 0
}

// shareFolders gives those of an array that wait for the same what the first of them
// has, after a restart.
func (b *Broker) shareFolders(waits func(*job) bool) {
	for _, id := range slices.Sorted(maps.Keys(b.jobs)) {
		j := b.jobs[id]
		if j.rec.State.IsTerminal() || !j.waitsLikeItsArray() || !waits(j) {
			continue
		}
		if a := b.arrayOf(&j.rec); a.work == "" {
			a.work = j.rec.Work
		} else {
			j.rec.Work = a.work
		}
		j.sharesWork = true
	}
}

// watchesOthers reports whether a job is held until others have done something.
func (t *turn) watchesOthers(j *job) bool {
	w, live := t.b.eng.FindJob(j.rec.ID)
	return live && (w.Hold == core.HeldDependency || w.Hold == core.HeldBegin)
}

// allWaiters are those who wait for a job, and who wait for these: of an array whose
// elements wait for the same the first that does.
func (t *turn) allWaiters(j *job) []*job {
	list, seen := []*job{j}, map[core.JobID]bool{j.rec.ID: true}
	addWaiters := func(id, array core.JobID) {
		for next := t.b.eng.NextWaiter(id, array, 0); next != 0; next = t.b.eng.NextWaiter(id, array, next) {
			w := t.b.jobs[next]
			if w != nil && w.sharesWork {
				next = w.rec.Parent + core.JobID(w.spec.Array.Len()) - 1 // the others of its array follow it
			}
			if w != nil && !seen[w.rec.ID] {
				seen[w.rec.ID] = true
				list = append(list, w)
			}
		}
	}
	for i := 0; i < len(list); i++ {
		w := list[i]
		addWaiters(w.rec.ID, w.rec.Parent)
		if w.sharesWork { // it stands for the others
			for _, id := range t.b.eng.AwaitedWithin(w.rec.Parent, w.rec.Parent+core.JobID(w.spec.Array.Len())) {
				addWaiters(id, 0)
			}
		}
	}
	return list[1:]
}

// returnWindow is how long ago a job may have come home and yet be missing in a work
// folder that was sent since.
const returnWindow = 10 * time.Minute

// mergeEarlierResults puts into a new job's work folder what those it waits for brought home
// while the folder was on its way. It also says how many of them are over.
func (b *Broker) mergeEarlierResults(ctx context.Context, spec *jobfile.Job, work string,
	wants []resolvedDependency) (string, int) {
	over := 0
	if len(wants) == 0 || b.askLoop(ctx, func(t *turn) { over = t.countOver(wants) }) != nil {
		return work, 0
	}
	if work == "" || spec.Workdir == "" || b.opt.Depot == nil {
		return work, over
	}
	var home []store.Job
	for i := range wants { // what cannot be read is told when it is waited for
		_ = b.eachEnded(ctx, keyOf(wants[i].Wait), func(rec *store.Job) {
			if (rec.Result != "" || rec.Named) && b.brokerTime().Sub(rec.Ended) < returnWindow {
				home = append(home, *rec)
			}
		})
	}
	for i := range home {
		// else it is long gone from the depot
		if merged, err := b.mergeResults(ctx, &home[i], home[i].Spec, spec.Workdir, work); err == nil {
			work = merged
		}
	}
	return work, over
}

// mergeResults puts what a job changed, and the files with its output, into another's
// work folder, which lies at dir, and returns the new tree.
func (b *Broker) mergeResults(ctx context.Context, from *store.Job, spec *jobfile.Job, dir,
	work string) (string, error) {
	if spec == nil || spec.Workdir == "" || dir == "" {
		return work, nil
	}
	chunks, err := b.depotFor(ctx)
	if err != nil {
		return work, err
	}
	load := func(id string) (*depot.Tree, error) {
		if id == "" {
			return &depot.Tree{}, nil
		}
		return depot.LoadTree(ctx, chunks, depot.ID(id))
	}
	mine, err := load(work)
	if err != nil {
		return work, err
	}
	changed := false
	if from.Result != "" {
		base, err := load(from.Work)
		if err != nil {
			return work, err
		}
		result, err := load(from.Result)
		if err != nil {
			return work, err
		}
		move := tree.PathMover(spec.Workdir, dir)
		mine, changed = tree.MergeTrees(base, result, mine, func(p string) (string, bool) {
			if !userfiles.IsWanted(p, spec.Outputs) {
				return "", false
			}
			return move(p)
		})
	}
	written, err := b.outputTree(ctx, chunks, from, spec, dir)
	if err != nil {
		return work, err
	}
	mine, more := tree.OverlayTree(mine, written)
	if !changed && !more {
		return work, nil
	}
	id, err := depot.KeepTree(ctx, chunks, mine)
	return string(id), err
}

// outputTree is the files with a job's output that lie in a folder.
func (b *Broker) outputTree(ctx context.Context, chunks *depot.Store, rec *store.Job, spec *jobfile.Job,
	dir string) (*depot.Tree, error) {
	none := &depot.Tree{}
	if !rec.Named || rec.Started == 0 {
		return none, nil
	}
	move := tree.PathMover("/", dir)
	var files []userfiles.Copy
	for _, pattern := range []string{spec.Stdout, spec.Stderr} {
		file := outputName(rec, spec, pattern)
		if p, ok := move(file); ok && file != "" {
			files = append(files, userfiles.Copy{File: file, As: p})
		}
	}
	if len(files) == 0 {
		return none, nil
	}
	home, err := b.filesFor(ctx)
	if err != nil {
		return none, err
	}
	id, err := home.GatherFiles(ctx, files)
	if err != nil || id == "" {
		return none, err
	}
	return depot.LoadTree(ctx, chunks, depot.ID(id))
}
