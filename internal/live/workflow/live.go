package workflow

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/godwit-hpc/godwit/internal/live/flowrun"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// liveFlow is a workflow that is not over.
type liveFlow struct {
	spec    *api.FlowSubmit
	stop    chan struct{} // closed when it is to be cancelled
	stopped sync.Once
	forgive bool

	committing sync.Mutex // held while what changed is being stored; taken before mu

	mu      sync.Mutex
	rec     store.Flow        // as it is
	stored  store.Flow        // as it is in the store
	tasks   []store.FlowTask  // as they are
	durable []store.FlowTask  // as they are in the store
	dirty   map[int]bool      // tasks that differ from the store
	pending []store.FlowEntry // to be stored
	news    []wire.Entry      // that were stored while it was live, the last maxNews
	dropped int               // so many before them
	outlook outlook
	changed chan struct{} // closed at the next change
}

// outlook is when a workflow will end; zero: nobody knows.
type outlook struct{ end, early, late core.Time }

// maxNews is how many decisions are kept for those who watch.
const maxNews = 1000

func newLiveFlow(rec *store.Flow, tasks []store.FlowTask) (*liveFlow, error) {
	spec, err := decodeSpec(rec.Spec)
	if err != nil {
		return nil, err
	}
	l := &liveFlow{spec: spec, stop: make(chan struct{}), dirty: map[int]bool{}, rec: *rec, changed: make(chan struct{})}
	l.rec.Spec = nil
	l.stored = l.rec
	l.tasks = make([]store.FlowTask, len(spec.Flow.Tasks))
	for i := range l.tasks {
		l.tasks[i].Flow, l.tasks[i].N = rec.ID, i
	}
	for _, t := range tasks {
		if t.N >= 0 && t.N < len(l.tasks) {
			l.tasks[t.N] = t
		}
	}
	l.durable = slices.Clone(l.tasks)
	if rec.State == store.FlowCancelling {
		l.cancel()
	}
	return l, nil
}

func (l *liveFlow) cancel() { l.stopped.Do(func() { close(l.stop) }) }

// runTasks is the tasks as a run finds them.
func (l *liveFlow) runTasks() []store.FlowTask {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.tasks)
}

// takeState takes in how a run stands.
func (l *liveFlow) takeState(st *flowrun.State, now core.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range st.Events {
		l.applyEntry(e)
	}
	l.outlook = outlook{}
	if o := st.Outlook; o.End > 0 && !st.Over && !st.Stopped {
		at := func(s float64) core.Time { return l.rec.Submitted.Add(core.DurationFromSeconds(finite(s))) }
		l.outlook = outlook{at(o.End), at(o.Early), at(o.Late)}
	}
	if st.Over {
		l.applyEntry(endOf(st, now))
	}
}

// applyEntry lets an event happen: the records are what the events give. What changed is stored at
// the next commit, together with the event.
func (l *liveFlow) applyEntry(e store.FlowEntry) {
	e.Flow, e.Inputs = l.rec.ID, finiteOnly(e.Inputs)
	e.Event.Seconds, e.Event.Bound = finite(e.Event.Seconds), finite(e.Event.Bound)
	var task *store.FlowTask
	if e.Event.Kind.IsOfTask() {
		task = &l.tasks[e.Event.Task]
		l.dirty[e.Event.Task] = true
	}
	l.rec.ApplyEvent(e.Event, task)
	l.pending = append(l.pending, e)
}

// endOf is how a workflow ended.
func endOf(st *flowrun.State, now core.Time) store.FlowEntry {
	ev := &core.FlowEvent{When: now}
	choice := store.FlowFailed
	switch {
	case st.Count.Done == len(st.Tasks):
		ev.Kind, choice = core.FlowCompleted, store.FlowCompleted
	case st.Stopped:
		ev.Kind, choice = core.FlowCancelled, store.FlowCancelled
		ev.Why = fmt.Sprintf("cancelled with %d of %d tasks done", st.Count.Done, len(st.Tasks))
	default:
		ev.Kind = core.FlowFailed
		for i := range st.Tasks {
			if st.Tasks[i].Failed {
				ev.Why = fmt.Sprintf("task %s failed: %s", st.Tasks[i].ID, st.Tasks[i].Why)
				break
			}
		}
	}
	return store.FlowEntry{Event: ev, Entry: wire.Entry{At: now, Kind: "end", Choice: string(choice), Why: ev.Why,
		Inputs: map[string]any{"tasks": len(st.Tasks), "done": st.Count.Done, "failed": st.Count.Failed,
			"never": st.Count.Never}}}
}

// finite is a number that can be written down.
func finite(x float64) float64 {
	const most = 1e9 // seconds: more than a generation
	if math.IsNaN(x) {
		return 0
	}
	return min(max(x, -most), most)
}

// finiteOnly replaces numbers that cannot be written down.
func finiteOnly(inputs map[string]any) map[string]any {
	kept := maps.Clone(inputs)
	for name, value := range kept { // order-free: each is looked at by itself
		if x, ok := value.(float64); ok {
			kept[name] = finite(x)
		}
	}
	return kept
}

// noteEvent lets an event of the workflow itself happen.
func (l *liveFlow) noteEvent(ev core.FlowEvent, told wire.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.applyEntry(store.FlowEntry{Event: &ev, Entry: told})
}

// unsavedChanges is what is to be stored.
func (l *liveFlow) unsavedChanges() ([]store.Flow, []store.FlowTask, []store.FlowEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var flows []store.Flow
	if !sameRecord(&l.rec, &l.stored) {
		flows = append(flows, l.rec)
	}
	var tasks []store.FlowTask
	for _, n := range slices.Sorted(maps.Keys(l.dirty)) {
		tasks = append(tasks, l.tasks[n])
	}
	return flows, tasks, slices.Clone(l.pending)
}

// sameRecord compares two records of which neither has the workflow itself.
func sameRecord(a, b *store.Flow) bool {
	return a.State == b.State && a.Why == b.Why && a.Done == b.Done && a.Failed == b.Failed && a.Ended == b.Ended &&
		a.Planned == b.Planned && a.Replans == b.Replans && a.Heuristic == b.Heuristic
}

// saved notes what is durable. Nobody changes anything between unsavedChanges and saved.
func (l *liveFlow) saved(flows []store.Flow, tasks []store.FlowTask, entries []store.FlowEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range flows {
		l.stored = flows[i]
	}
	for _, t := range tasks {
		l.durable[t.N] = t
	}
	clear(l.dirty)
	l.pending = l.pending[len(entries):]
	l.news = append(l.news, toldEntries(entries)...)
	if over := len(l.news) - maxNews; over > 0 {
		l.news, l.dropped = append([]wire.Entry(nil), l.news[over:]...), l.dropped+over
	}
}

// toldEntries is what users are told of events: not all of them are worth a line.
func toldEntries(entries []store.FlowEntry) []wire.Entry {
	var told []wire.Entry
	for i := range entries {
		if entries[i].Kind != "" {
			told = append(told, entries[i].Entry)
		}
	}
	return told
}

// newsSince is what was decided after the first told entries, and how many there are now.
func (l *liveFlow) newsSince(told int) ([]wire.Entry, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]wire.Entry(nil), l.news[max(0, min(told-l.dropped, len(l.news))):]...), l.dropped + len(l.news)
}

func (l *liveFlow) signalChange() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *liveFlow) nextChange() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}
