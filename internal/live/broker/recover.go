package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
)

// shape is what brokers of earlier versions remembered of a cluster.
type shape struct {
	Name  string `json:"name"`
	Procs int    `json:"procs"`
}

// loadState brings back what the broker knew.
func (b *Broker) loadState(ctx context.Context) error {
	l, err := b.opt.Store.LoadState(ctx)
	if err != nil {
		return err
	}
	if err := b.canRun(l); err != nil {
		return err
	}
	known, err := b.opt.Store.GetSetting(ctx, "clusters")
	if err != nil {
		return err
	}
	stored := func(name string) (string, error) { return b.opt.Store.GetSetting(ctx, name) }
	if err := b.mover.LoadTables(stored); err != nil {
		return err
	}
	first, err := b.earlierClusters(known, l)
	if err != nil {
		return err
	}
	b.eng, err = b.restoreEngine(first, l)
	if err != nil {
		return err
	}
	if err := b.logBegin(); err != nil {
		return err
	}
	b.began = b.opt.Clock()
	b.base = max(core.Time(b.began.UnixNano()), b.eng.Now())
	b.pending = l.Outbox
	runs, err := b.opt.Store.ListRuns(ctx, store.Past{Limit: history.EstimateRows})
	if err != nil {
		return err
	}
	for i := range runs {
		b.past.CountRun(&runs[i])
	}
	b.nextSend, b.nextEvent = max(1, l.NextSend), l.NextEvent()
	b.changes = newChangeFeed(b.nextEvent - 1)
	if err := b.loadTally(ctx); err != nil {
		return err
	}
	if err := b.resumeNumbers(ctx, l.NextJob); err != nil {
		return err
	}
	if err := b.loadArrays(ctx, l.Arrays); err != nil {
		return err
	}
	names := b.eng.ClusterNames()
	for i := range l.Jobs {
		rec := l.Jobs[i]
		j := newJob(rec)
		if err := b.loadAttempts(ctx, j); err != nil {
			return err
		}
		j.requested, j.startedAt = rec.Started, rec.Started
		j.tallied = rec.State
		j.places = recordedPlaces(&rec, names)
		b.jobs[rec.ID] = j
		b.placed.updateJob(j)
		b.countJobs(rec.Owner, 1)
		if a := b.arrayOf(&j.rec); a != nil {
			a.live++
			a.progress.countLoaded(&j.rec)
		}
		if j.spec != nil && j.spec.Pattern != nil {
			b.patterns.Store(true)
		}
	}
	for _, a := range b.arrays {
		a.progress.hasUnread = a.progress.unfinished < a.progress.size
	}
	b.shareFolders((&turn{b: b}).watchesOthers)
	return b.takeOver(ctx, known != "")
}

// recordedPlaces is where the parts of a job's present attempt are, by its record. names are those
// of the clusters.
func recordedPlaces(rec *store.Job, names []string) []whereabouts {
	at := []string{rec.Cluster}
	if len(rec.Parts) > 0 {
		at = at[:0]
		for i := range rec.Parts {
			at = append(at, rec.Parts[i].Cluster)
		}
	}
	var list []whereabouts
	for part, name := range at {
		if id := slices.Index(names, name); id >= 0 {
			list = append(list, whereabouts{rec.Epoch, part, core.ClusterID(id)})
		}
	}
	return list
}

// canRun refuses jobs that this broker would run as somebody else than their owner.
func (b *Broker) canRun(l *store.Loaded) error {
	jobs := l.Jobs
	for i := range l.Arrays {
		jobs = append(jobs[:len(jobs):len(jobs)], l.Arrays[i].ElementRecord(0, 0))
	}
	for i := range jobs {
		if j := &jobs[i]; b.opt.Users == nil && j.Owner != 0 {
			return &badinput.Error{Field: "--shared",
				Problem: fmt.Sprintf("needed: job %d of %s is in this state folder, which is that of a broker of several users",
					j.ID, j.User)}
		}
	}
	return nil
}

// loadAttempts brings back what a job has saved, and what was expected of it when it
// was placed. One that never was has neither, and thousands may wait.
func (b *Broker) loadAttempts(ctx context.Context, j *job) (err error) {
	if j.rec.Epoch == 0 {
		return nil
	}
	if j.saved, err = b.opt.Store.ListCheckpoints(ctx, j.rec.ID); err != nil {
		return err
	}
	quotes, err := b.opt.Store.ListQuotes(ctx, store.Past{Job: j.rec.ID, Limit: 1})
	if err == nil && len(quotes) > 0 {
		j.quote = &quotes[0]
	}
	return err
}

// earlierClusters is what the clusters consisted of before the first event, as far as
// brokers of earlier versions told: later ones have told by events. A cluster that
// is gone, or has another size, can be accepted only while no job lives.
func (b *Broker) earlierClusters(known string, l *store.Loaded) ([]core.ClusterSpec, error) {
	var was []shape
	if known == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(known), &was); err != nil {
		return nil, fmt.Errorf("the list of clusters in the store: %w", err)
	}
	live := slices.ContainsFunc(l.Jobs, func(j store.Job) bool { return !j.State.IsTerminal() })
	var list []core.ClusterSpec
	for _, s := range was {
		i := slices.IndexFunc(b.opt.Clusters, func(c Cluster) bool { return c.Name == s.Name })
		if i >= 0 {
			c := &b.opt.Clusters[i]
			spec := core.ClusterSpec{Name: c.Name, Hosts: c.Hosts, Managed: c.Managed, Depth: c.Queue}
			if len(c.Hosts) <= 1 && totalProcs(c.Hosts) != s.Procs { // hosts come and go there
				spec.Hosts = []core.HostSpec{{Procs: s.Procs, Speed: 1}}
			}
			if spec.TotalProcs() == s.Procs {
				list = append(list, spec)
				continue
			}
		}
		if live && !hasSnapshot(l) {
			return nil, &badinput.Error{Field: "clusters", Value: s.Name,
				Problem: "cannot be changed while jobs that an earlier version accepted have not ended; wait for them or cancel " +
					"them first"}
		}
		if !hasSnapshot(l) {
			l.Snapshots, l.First, l.Events = nil, l.NextEvent(), nil // nothing in them is about the clusters of today
			return nil, nil
		}
		list = append(list, core.ClusterSpec{Name: s.Name, Hosts: []core.HostSpec{{Procs: s.Procs, Speed: 1}}})
	}
	return list, nil
}

// hasSnapshot reports whether there is a snapshot to go by, which says itself what
// clusters it is about.
func hasSnapshot(l *store.Loaded) bool {
	return slices.ContainsFunc(l.Snapshots, func(s store.Snapshot) bool {
		_, whole := l.EventsAfter(s.UpTo)
		return whole && engine.IsReadable(s.State)
	})
}

// restoreEngine makes the engine of the newest snapshot that can be read and the events
// after it.
func (b *Broker) restoreEngine(first []core.ClusterSpec, l *store.Loaded) (*engine.Engine, error) {
	for _, s := range l.Snapshots {
		events, whole := l.EventsAfter(s.UpTo)
		if !whole {
			continue
		}
		e, err := engine.Restore(b.opt.Engine, core.DeadlineFirst, s.State, events)
		switch {
		case errors.Is(err, engine.ErrSnapshot):
			b.opt.Log.Warn("a snapshot cannot be used", "error", err)
			continue
		case err != nil:
			return nil, fmt.Errorf("%w: %w", store.ErrDamaged, err)
		}
		b.snapped = s.UpTo
		return e, nil
	}
	if l.First > 1 && len(l.Events) > 0 || l.First > 1 && len(l.Snapshots) > 0 {
		return nil, fmt.Errorf("%w: no snapshot can be read and the events before number %d are gone", store.ErrDamaged,
			l.First)
	}
	e, err := engine.FromEvents(b.opt.Engine, core.DeadlineFirst, first, l.Events)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	return e, nil
}

// takeOver makes the clusters of the settings those of the world, and has what
// follows from it stored. A store of an earlier version gets a snapshot, which says
// what its clusters consist of.
func (b *Broker) takeOver(ctx context.Context, earlier bool) error {
	for id := range core.ClusterID(b.eng.ClusterCount()) {
		b.putCluster(storedCluster(id, b.eng.Cluster(id)))
	}
	if earlier && b.nextEvent > 1 {
		state, err := b.eng.EncodeSnapshot()
		if err != nil {
			return err
		}
		if err := b.opt.Store.SaveSnapshot(ctx, b.nextEvent-1, state); err != nil {
			return err
		}
		b.snapped = b.nextEvent - 1
	}
	t := b.newTurn()
	t.defineAll(b.opt.Clusters)
	return t.commitTurn(ctx)
}

// eventsPerSnapshot is how many events there are between snapshots. Events that are not
// needed any more are dropped with each, while everybody waits: more of them would be
// noticed.
const eventsPerSnapshot = 5_000

// jobsPerCopy is how many jobs are copied for a snapshot in one turn of the loop.
const jobsPerCopy = 2_000

// maybeSnapshot has a snapshot made when there are enough new events. The state is copied in
// the loop, some jobs in each turn; encoding and storing it, which takes longer, is done
// beside it. An error is that of the snapshot before.
func (b *Broker) maybeSnapshot() error {
	if b.copying == nil {
		// A snapshot costs as much as some events of every job in it.
		if !b.isRunning || b.isSnapshotting ||
			b.nextEvent-b.snapped < uint64(max(eventsPerSnapshot, 2*b.eng.LiveCount())) {
			return b.snapshotErr
		}
		b.isSnapshotting = true
		b.copying = b.eng.BeginCopy()
	}
	if !b.copying.CopyJobs(jobsPerCopy) {
		b.postLater(func(*turn) {}) // there is to be a next turn; others may come before
		return b.snapshotErr
	}
	state, upTo := b.copying.FinishCopy(), b.nextEvent-1
	if err := b.logSnapshot(upTo); err != nil {
		return err
	}
	b.copying = nil
	b.runUntilStopped(func(ctx context.Context) {
		text, err := state.EncodeSnapshot()
		if err == nil {
			err = b.opt.Store.SaveSnapshot(ctx, upTo, text)
		}
		if errors.Is(err, store.ErrFull) && !clock.SleepContext(ctx, diskRetryInterval) {
			return
		}
		b.postToLoop(func(*turn) {
			b.isSnapshotting = false
			switch {
			case errors.Is(err, store.ErrFull): // later: it only saves time
			case err != nil:
				b.snapshotErr = err
			default:
				b.snapped = upTo
			}
		})
	})
	return b.snapshotErr
}

// resumeWork takes up the work where the last broker left it: the outbox is carried
// out again, every live attempt is seen to, attempts that nobody knows are
// ended, results are brought home. What it returns is to be the first turn: nobody
// empties the mailbox yet, which agents and clients may have filled by now.
func (b *Broker) resumeWork() (first func(*turn)) {
	for id, j := range b.jobs {
		w, live := b.eng.FindJob(id)
		if j.rec.State.IsTerminal() || !live {
			continue
		}
		(&turn{b: b}).countIn(j)
		if j.rec.Runs == 0 { // the record of an earlier version did not count them
			j.rec.Runs, j.rec.Losses = w.Runs, w.Losses
		}
	}
	var then []func(*turn)
	b.resumeCommands()
	for id, j := range b.jobs {
		w, live := b.eng.FindJob(id)
		switch {
		case j.over:
		case j.rec.State.IsTerminal():
			b.returnResults(j)
		case live && w.Parts > 1:
			if w.State != core.Staging { // that is in the outbox
				then = append(then, b.resumeParts(j, w.Epoch))
			}
		case live && w.Parts > 0 && w.State != core.Staging && w.State != core.Selected: // that is in the outbox
			c := core.Command{Kind: core.Start, Job: id, Epoch: w.Epoch}
			j.line.addTask(b.runInBackground, func() { b.startAttempt(j, c) })
		}
	}
	return func(t *turn) {
		t.enterUnknown()
		t.stepEngine(&core.Input{Kind: core.Tick})
		for _, id := range slices.Sorted(maps.Keys(t.b.arrays)) {
			t.fillQueue(t.b.arrays[id])
		}
		for _, f := range then {
			f(t)
		}
	}
}

// resumeCommands carries out what the last broker had still to do.
func (b *Broker) resumeCommands() {
	var questions describeQueue
	for _, o := range b.pending {
		j := b.jobs[o.Command.Job]
		if j == nil { // over; only its folder is left
			j = newJob(store.Job{ID: o.Command.Job, Epoch: o.Command.Epoch, State: core.Done})
			j.over = true
			b.jobs[o.Command.Job], b.ending[o.Command.Job] = j, j
		}
		if o.Command.Kind == core.Describe {
			questions.addJob(j, o.ID)
		} else {
			b.executeCommand(j, o.ID, o.Command)
		}
	}
	b.describeJobs(questions)
}

// sweepUnknown ends attempts that a cluster knows and we do not, as soon as it can be
// asked.
func (b *Broker) sweepUnknown(ctx context.Context, id core.ClusterID) {
	told := ""
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		c := b.allClusters()[id]
		found, err := c.Driver.FindAttempts(ctx)
		b.endStale(ctx, c, found)
		if err == nil {
			return
		}
		if told != err.Error() { // the same again tells nobody anything
			told = err.Error()
			b.opt.Log.Error("cannot ask what runs", "cluster", c.Name, "error", err)
		}
		if !clock.SleepContext(ctx, wait) {
			return
		}
	}
}

func (b *Broker) endStale(ctx context.Context, c *cluster, found []driver.Found) {
	for _, f := range found {
		stale := false
		if b.askLoop(ctx, func(t *turn) {
			j := b.jobs[f.Job]
			stale = j == nil || j.rec.Epoch != f.Epoch || f.Part >= j.rec.PartCount()
		}) != nil {
			return
		}
		if stale {
			b.releaseAttempt(f.ID, c.id)
		}
	}
}

// enterUnknown hands those to the engine that it does not know: brokers of earlier
// versions kept jobs that waited for others from it.
func (t *turn) enterUnknown() {
	isUnknown := func(j *job) bool {
		return !j.rec.State.IsTerminal() && !t.b.eng.IsLive(j.rec.ID) && !t.b.isAhead(j)
	}
	t.b.shareFolders(isUnknown)
	var unknown []*job
	for _, j := range t.b.jobs {
		if isUnknown(j) {
			unknown = append(unknown, j)
		}
	}
	slices.SortFunc(unknown, func(a, b *job) int { return int(a.rec.ID - b.rec.ID) })
	for _, j := range unknown {
		t.enterUndescribed(j, map[targetKey]core.Target{})
	}
}
