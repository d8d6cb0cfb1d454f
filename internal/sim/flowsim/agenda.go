package flowsim

import (
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/heap"
)

type kind uint8

const (
	taskEnds kind = iota
	loadChanges
	sensorsLook
	hostFails
	hostReturns
)

// An event is something that will happen.
type event struct {
	at    core.Time
	seq   int // of equal times the one that was added first comes first
	kind  kind
	task  int
	gen   int
	host  int
	share float64
}

// An agenda is what will happen, the next first.
type agenda struct {
	list   heap.Heap[event]
	seq    int
	others int // that are neither ends of tasks nor looks of sensors
}

func (e event) IsBefore(f event) bool { return e.at < f.at || e.at == f.at && e.seq < f.seq }

func (event) SetPosition(int) {}

func (a *agenda) addEvent(e event) {
	a.seq++
	e.seq = a.seq
	a.countEvent(e, 1)
	a.list.Push(e)
}

func (a *agenda) popEvent() event {
	e := a.list.Pop()
	a.countEvent(e, -1)
	return e
}

func (a *agenda) countEvent(e event, by int) {
	if e.kind != taskEnds && e.kind != sensorsLook {
		a.others += by
	}
}

func (a *agenda) nextTime() core.Time {
	if len(a.list) == 0 {
		return core.Never
	}
	return a.list[0].at
}
