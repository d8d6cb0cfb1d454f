package flowsim

import (
	"container/heap"

	"github.com/godwit-hpc/godwit/internal/sched/core"
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
	list   events
	seq    int
	others int // that are neither ends of tasks nor looks of sensors
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func (a *agenda) addEvent(e event) {
	a.seq++
	e.seq = a.seq
	a.countEvent(e, 1)
	heap.Push(&a.list, e)
}

func (a *agenda) popEvent() event {
	e := heap.Pop(&a.list).(event)
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
