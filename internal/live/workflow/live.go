package workflow

import (
	"fmt"
	"maps"
	"math"
	"sync"
	"time"

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
	rec     store.Flow // as it is
	stored  store.Flow // as it is in the store
	tasks   []store.FlowTask
	pending []wire.Entry // to be stored
	news    []wire.Entry // that were stored while it was live, the last maxNews
	dropped int          // so many before them
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
	l := &liveFlow{spec: spec, stop: make(chan struct{}), rec: *rec, changed: make(chan struct{})}
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
	if rec.State == store.FlowCancelling {
		l.cancel()
	}
	return l, nil
}

func (l *liveFlow) cancel() { l.stopped.Do(func() { close(l.stop) }) }

// runTasks is the tasks as a run knows them.
func (l *liveFlow) runTasks() []flowrun.Task {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]flowrun.Task, len(l.tasks))
	for i := range l.tasks {
		t := &l.tasks[i]
		list[i] = flowrun.Task{Job: t.Job, Try: t.Try, Forgiven: t.Forgiven, Cluster: t.Cluster, State: t.State,
			Started: timeOrZero(t.Started), Ended: timeOrZero(t.Ended), Done: t.Done, Failed: t.Failed, Why: t.Why}
	}
	return list
}

func timeOrZero(t core.Time) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return momentOf(t)
}

func coreTime(t time.Time) core.Time {
	if t.IsZero() {
		return 0
	}
	return core.Time(t.UnixNano())
}

// takeState takes in how a run stands, and returns the tasks that changed.
func (l *liveFlow) takeState(st *flowrun.State, now core.Time) []store.FlowTask {
	l.mu.Lock()
	defer l.mu.Unlock()
	var changed []store.FlowTask
	for i := range st.Tasks {
		x := &st.Tasks[i]
		t := store.FlowTask{Flow: l.rec.ID, N: i, Job: x.Job, Try: max(x.Try, l.tasks[i].Try), Forgiven: x.Forgiven,
			Cluster: x.Cluster,
			State:   x.State, Started: coreTime(x.Started), Ended: coreTime(x.Ended), Done: x.Done, Failed: x.Failed, Why: x.Why}
		if t != l.tasks[i] {
			changed = append(changed, t)
		}
	}
	for _, d := range st.Decisions {
		l.pending = append(l.pending, wire.Entry{At: coreTime(d.At), Kind: d.Kind, Choice: d.Choice, Why: d.Why,
			Inputs: finiteOnly(d.Inputs)})
	}
	l.rec.Done, l.rec.Failed = st.Count.Done, st.Count.Failed
	if l.rec.Heuristic == "" && st.Notes > 0 {
		l.rec.Planned, l.rec.Bound, l.rec.Heuristic = finite(st.First.End), finite(st.Bound), st.First.Heuristic
	}
	l.rec.Replans = max(l.rec.Replans, st.Notes-1)
	l.outlook = outlook{}
	if o := st.Outlook; o.End > 0 && !st.Over && !st.Stopped {
		at := func(s float64) core.Time { return l.rec.Submitted.Add(core.DurationFromSeconds(finite(s))) }
		l.outlook = outlook{at(o.End), at(o.Early), at(o.Late)}
	}
	if st.Over {
		l.end(st, now)
	}
	return changed
}

// end marks the workflow as over.
func (l *liveFlow) end(st *flowrun.State, now core.Time) {
	l.rec.Ended = now
	switch {
	case st.Count.Done == len(st.Tasks):
		l.rec.State, l.rec.Why = store.FlowCompleted, ""
	case st.Stopped:
		l.rec.State, l.rec.Why = store.FlowCancelled,
			fmt.Sprintf("cancelled with %d of %d tasks done", st.Count.Done, len(st.Tasks))
	default:
		l.rec.State = store.FlowFailed
		for i := range st.Tasks {
			if st.Tasks[i].Failed {
				l.rec.Why = fmt.Sprintf("task %s failed: %s", st.Tasks[i].ID, st.Tasks[i].Why)
				break
			}
		}
	}
	l.pending = append(l.pending, wire.Entry{At: now, Kind: "end", Choice: string(l.rec.State), Why: l.rec.Why,
		Inputs: map[string]any{"tasks": len(st.Tasks), "done": st.Count.Done, "failed": st.Count.Failed,
			"never": st.Count.Never}})
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

// note adds a decision, which is stored with what changes next.
func (l *liveFlow) note(at core.Time, kind, choice, why string, inputs map[string]any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, wire.Entry{At: at, Kind: kind, Choice: choice, Why: why, Inputs: inputs})
}

// unsaved is what is to be stored.
func (l *liveFlow) unsaved() ([]store.Flow, []store.FlowEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var flows []store.Flow
	if !sameRecord(&l.rec, &l.stored) {
		flows = append(flows, l.rec)
	}
	var entries []store.FlowEntry
	for _, e := range l.pending {
		entries = append(entries, store.FlowEntry{Flow: l.rec.ID, Entry: e})
	}
	return flows, entries
}

// sameRecord compares two records of which neither has the workflow itself.
func sameRecord(a, b *store.Flow) bool {
	return a.State == b.State && a.Why == b.Why && a.Done == b.Done && a.Failed == b.Failed && a.Ended == b.Ended &&
		a.Planned == b.Planned && a.Replans == b.Replans && a.Heuristic == b.Heuristic
}

// saved notes what is durable.
func (l *liveFlow) saved(flows []store.Flow, tasks []store.FlowTask, entries []store.FlowEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range flows {
		l.stored = flows[i]
	}
	for _, t := range tasks {
		l.tasks[t.N] = t
	}
	l.pending = l.pending[len(entries):]
	for i := range entries {
		l.news = append(l.news, entries[i].Entry)
	}
	if over := len(l.news) - maxNews; over > 0 {
		l.news, l.dropped = append([]wire.Entry(nil), l.news[over:]...), l.dropped+over
	}
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
