package world

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// source turns fuzzed bytes into numbers; it yields zeros when it runs dry.
type source struct{ data []byte }

func (s *source) byte() int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b)
}

// small is mostly a number that may mean something, now and then one that
// cannot.
func (s *source) small() int {
	switch b := s.byte(); {
	case b < 200:
		return b % 12
	case b < 250:
		return -(b % 12)
	default:
		return [...]int{math.MaxInt, math.MinInt, math.MaxInt32, math.MinInt32, 64, 65}[b-250]
	}
}

func (s *source) procs() core.ProcSet {
	var set core.ProcSet
	for range s.byte() % 4 {
		lo := int32(s.small())
		set = append(set, core.Range{Lo: lo, Hi: lo + int32(s.small())})
	}
	return set
}

func (s *source) spec(id core.JobID, sane bool) *core.Job {
	j := &core.Job{ID: id, Kind: core.Kind(s.byte() % 3), Place: core.PlacePolicy(s.byte() % 6), MaxTries: s.byte() % 4}
	if s.byte()%3 == 0 {
		j.App = "app"
	}
	for range 1 + s.byte()%2 {
		least := 1 + s.byte()%4
		if !sane {
			least = s.small()
		}
		j.Components = append(j.Components,
			core.Component{Min: least, Max: least + s.byte()%8, Inputs: []core.FileID{core.FileID(s.byte() % 3)}})
	}
	return j
}

// event is an arbitrary event, or one that could happen: otherwise nearly all
// would be refused for the same few reasons.
func (s *source) event(w *World) core.Event {
	if s.byte()%4 > 0 {
		return s.plausible(w)
	}
	ev := core.Event{Kind: core.EventKind(s.byte() % 22), At: w.last + core.Time(s.byte()%3),
		Job: core.JobID(s.small() % 6)}
	ev.N, ev.Min, ev.Max = s.small(), s.small(), s.small()
	ev.Part, ev.Component, ev.Cluster = s.byte()%3, s.byte()%3, core.ClusterID(s.byte()%3)
	ev.To, ev.When, ev.Done = core.State(s.byte()%14), core.Time(s.small()), float64(s.small())/10
	ev.Mandatory, ev.Serial, ev.Procs, ev.Epoch = s.byte()%2 == 0, s.small(), s.procs(), core.Epoch(s.small())
	if j := w.Job(ev.Job); j != nil {
		ev.From, ev.Epoch = j.state, j.epoch
	}
	if ev.Kind == core.JobSubmitted {
		ev.Spec = s.spec(ev.Job, false)
	}
	return ev
}

// plausible is an event that a job in its present state may well see.
func (s *source) plausible(w *World) core.Event {
	ev := core.Event{At: w.last + core.Time(s.byte()%3), Job: core.JobID(1 + s.byte()%5)}
	j := w.Job(ev.Job)
	if j == nil {
		ev.Kind, ev.Spec = core.JobSubmitted, s.spec(ev.Job, true)
		return ev
	}
	ev.Epoch, ev.From, ev.N = j.epoch, j.state, s.byte()%8
	menu := []core.EventKind{core.JobBecame}
	switch {
	case j.state.IsWaiting():
		menu = append(menu, core.PartPlanned, core.PartPlanned, core.JobEnqueued, core.QueueScanned)
	case j.state == core.Running || j.state == core.Stopping:
		menu = append(menu, core.PartOffered, core.PartAnswered, core.PartGaveBack, core.PartAsked, core.PartSilent,
			core.PartAccepted,
			core.JobSized, core.JobProgressed, core.PartOffered, core.PartAnswered)
	case len(j.parts) > 0:
		menu = append(menu, core.PartHeld, core.PartStaged, core.PartClaimed)
	}
	ev.Kind = menu[s.byte()%len(menu)]
	s.fillIn(w, j, &ev)
	return ev
}

func (s *source) fillIn(w *World, j *Job, ev *core.Event) {
	switch ev.Kind {
	case core.JobBecame:
		end := s.byte()%5 == 0
		for to := core.State(s.byte() % 14); ; to = (to + 1) % 14 {
			if ev.To = to; j.state.MayBecome(to) && (end || !to.IsTerminal()) {
				return
			}
		}
	case core.PartPlanned:
		if ev.Part = len(j.parts); ev.Part == 0 {
			ev.Epoch++
		}
		ev.Component, ev.Cluster = ev.Part%len(j.spec.Components), core.ClusterID(s.byte()%2)
		comp := j.spec.Components[ev.Component]
		ev.N, ev.Min, ev.Max = comp.Min, comp.Min, comp.Max
		if ev.When = core.Time(s.byte()); s.byte()%3 > 0 {
			ev.Procs = w.clusters[ev.Cluster].ChooseProcs(ev.N, nil)
		}
		return
	}
	if len(j.parts) == 0 {
		return
	}
	ev.Part, ev.Done = s.byte()%len(j.parts), float64(s.byte())/250
	p := j.parts[ev.Part]
	ev.Serial = p.serial
	switch ev.Kind {
	case core.PartHeld:
		ev.Procs = p.cluster.ChooseProcs(p.size, nil)
	case core.PartOffered:
		ev.Serial++
		ev.Mandatory, ev.When = s.byte()%2 == 0, ev.At+core.Time(s.byte())
		if ev.Procs = p.cluster.ChooseProcs(ev.N, nil); p.cluster.spec.Managed {
			ev.Procs = nil
		}
		if s.byte()%2 == 0 {
			ev.N = -ev.N
		}
	case core.PartGaveBack:
		_, ev.Procs = p.procs.SplitLast(ev.N)
	case core.PartAsked:
		ev.Mandatory = s.byte()%2 == 0
	}
}

// FuzzApply: whatever the events, ApplyEvent refuses or takes them and never
// panics, what it takes leaves the world sound, and taking only that again
// gives the same world.
func FuzzApply(f *testing.F) {
	f.Add([]byte{1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	f.Add([]byte("a job is submitted, placed, offered, answered and ended"))
	for i := range uint64(100) {
		random := rand.New(rand.NewPCG(i, 0))
		seed := make([]byte, 4000+i)
		for k := range seed {
			seed[k] = byte(random.Uint32())
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		spec := testSpec(10, 70)
		spec.Clusters[1].Managed, spec.Clusters[1].Resizes = len(data)%2 == 0, len(data)%4 == 0
		spec.Files = []FileSpec{{Bytes: 1, At: []core.ClusterID{0, 9}}}
		w := New(spec)
		var taken []core.Event
		for s := (&source{data[:min(len(data), 8000)]}); len(s.data) > 0; {
			ev := s.event(w)
			if w.ApplyEvent(&ev) != nil {
				w = replay(t, spec, taken) // a world that refused an event must not be used
				continue
			}
			taken = append(taken, ev)
			if err := w.CheckInvariants(); err != nil {
				t.Fatalf("after %+v: %v", ev, err)
			}
			w.NextTimer()
			w.NextCandidate(nil, 5, 10)
			w.OutOfTries(nil)
		}
		if again := replay(t, spec, taken); !bytes.Equal(again.AppendState(nil), w.AppendState(nil)) {
			t.Fatalf("replay gives\n%s\ninstead of\n%s", again.AppendState(nil), w.AppendState(nil))
		}
	})
}

func replay(t *testing.T, spec Spec, events []core.Event) *World {
	w := New(spec)
	for i := range events {
		if err := w.ApplyEvent(&events[i]); err != nil {
			t.Fatalf("taken once and refused on replay: %v", err)
		}
	}
	return w
}
