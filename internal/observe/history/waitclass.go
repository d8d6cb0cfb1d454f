package history

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// WaitClass is what queue waits depend on, as far as it is known when a job is
// handed to a cluster: when, for how long, with how many processors.
type WaitClass struct {
	Quarter int // of the day, UTC: 1 from midnight, 2 from six, 3 from noon, 4 from eighteen; 0: any
	Length  int // see LengthClass
	Procs   int // see ProcsClass; 0: any
}

// WaitClassOf is the class of a job that is handed over at that moment.
func WaitClassOf(at core.Time, length float64, procs int) WaitClass {
	return WaitClass{1 + HourOf(at)/6, LengthClass(length), ProcsClass(procs)}
}

// ProcsClass sorts jobs by their processors: 1 one, 2 up to eight, 3 up to 64, 4
// up to 512, 5 more.
func ProcsClass(n int) int {
	switch {
	case n <= 1:
		return 1
	case n <= 8:
		return 2
	case n <= 64:
		return 3
	case n <= 512:
		return 4
	}
	return 5
}

// waitLevels are what jobs have in common whose waits are looked at together,
// the most first.
var waitLevels = [...]func(WaitClass) WaitClass{
	func(c WaitClass) WaitClass { return c },
	func(c WaitClass) WaitClass { return WaitClass{Length: c.Length, Procs: c.Procs} },
	func(c WaitClass) WaitClass { return WaitClass{Length: c.Length} },
	func(WaitClass) WaitClass { return WaitClass{} },
}

// When a class is believed: it has seen so many waits, and its own bounds have
// held for so large a part of the last ones. A small class reaches far back, and
// what it says may be past: then a larger one, which has heard of the queue
// lately, is asked. And while the bounds for all jobs together do not hold as they
// should, the queue grows, of which a class hears late: then no bound is below
// theirs. With these values bounds on real traces are a tenth tighter than without
// classes and hold as often; with looser ones they are tighter and hold less.
const (
	enoughInClass = 120
	heldInClass   = 0.97
	heldInAll     = 0.96
)

// ClassedWaits are the queue waits of a cluster, by class.
type ClassedWaits struct {
	levels [len(waitLevels)]map[WaitClass]*Waits
}

// ClassedWaitsOf feeds the attempts that started, by when that became known.
func ClassedWaitsOf(rows []Run) *ClassedWaits {
	w := &ClassedWaits{}
	for _, r := range inOrder(rows) {
		wait, _ := r.WaitSeconds()
		w.AddWait(WaitClassOf(r.Requested, r.Length, r.Procs), wait)
	}
	return w
}

// inOrder are the attempts that started, by when that became known.
func inOrder(rows []Run) []*Run {
	order := make([]*Run, 0, len(rows))
	for i := range rows {
		if _, started := rows[i].WaitSeconds(); started {
			order = append(order, &rows[i])
		}
	}
	slices.SortStableFunc(order, func(a, b *Run) int { return cmp.Compare(a.Started, b.Started) })
	return order
}

// AddWait takes the next wait, in seconds, of a job of that class.
func (w *ClassedWaits) AddWait(c WaitClass, wait float64) {
	for i := range waitLevels {
		if w.levels[i] == nil {
			w.levels[i] = map[WaitClass]*Waits{}
		}
		key := waitLevels[i](c)
		if w.levels[i][key] == nil {
			w.levels[i][key] = &Waits{}
		}
		w.levels[i][key].AddWait(wait)
	}
}

// WaitsLike are the waits of the jobs that are most like one of that class, as far as
// these are to be believed; which says which jobs these are, for people: "" if
// they share nothing but the cluster.
func (w *ClassedWaits) WaitsLike(c WaitClass) (like *Waits, which string) {
	for i := range len(waitLevels) - 1 {
		key := waitLevels[i](c)
		if like := w.levels[i][key]; like != nil && like.isBelieved() {
			return like, key.String()
		}
	}
	return w.AllWaits(), ""
}

// AllWaits are the waits of all jobs.
func (w *ClassedWaits) AllWaits() *Waits {
	if all := w.levels[len(waitLevels)-1][WaitClass{}]; all != nil {
		return all
	}
	return &Waits{}
}

// UpperBound is as that of Waits, for a job of that class.
func (w *ClassedWaits) UpperBound(c WaitClass, quantile, confidence float64) (bound float64, known bool) {
	like, _ := w.WaitsLike(c)
	all := w.AllWaits()
	bound, known = like.UpperBound(quantile, confidence)
	if like != all && all.held.shareWithin() < heldInAll {
		b, _ := all.UpperBound(quantile, confidence)
		bound = max(bound, b)
	}
	return bound, known
}

// String says which jobs are meant, for people.
func (c WaitClass) String() string {
	lengths := [...]string{"of unknown length", "of up to a minute", "of up to 10 min", "of up to an hour", "of up to 8 h",
		"of more than 8 h"}
	procs := [...]string{"", "one core", "2 to 8 cores", "9 to 64 cores", "65 to 512 cores", "more than 512 cores"}
	text := lengths[c.Length]
	if c.Procs > 0 {
		text += " with " + procs[c.Procs]
	}
	if c.Quarter > 0 {
		text += fmt.Sprintf(" handed over between %02d and %02d h UTC", 6*(c.Quarter-1), 6*c.Quarter)
	}
	return text
}
