package conduct

import (
	"math"

	"github.com/godwit-hpc/godwit/internal/sched/flow"
)

// A model is what finished tasks tell about those to come: for each kind of tasks
// and class of hosts, how many times what the model said they took.
type model struct {
	kinds, classes int
	seen           []observedTimes // kind × class
	spent          []spentTimes    // by kind
	// prior and waiting are what is known beforehand
	prior, waiting func(kind, class int) float64
}

// observedTimes is the logarithms of what tasks took beside what was said.
type observedTimes struct{ n, sum, squares float64 }

// spentTimes is the seconds that the tasks of a kind waited for something else than a
// processor, and all that they would have taken with processors of their own.
type spentTimes struct{ waiting, all float64 }

func newModel(cfg *Config) *model {
	m := &model{kinds: 1, classes: 1, prior: cfg.Prior, waiting: cfg.Waiting}
	if m.prior == nil {
		m.prior = func(int, int) float64 { return 1 }
	}
	if m.waiting == nil {
		m.waiting = func(int, int) float64 { return 0 }
	}
	for t := range cfg.DAG.Tasks {
		m.kinds = max(m.kinds, cfg.DAG.Tasks[t].Kind+1)
	}
	for h := range cfg.Hosts {
		m.classes = max(m.classes, cfg.Hosts[h].Class+1)
	}
	m.seen = make([]observedTimes, m.kinds*m.classes)
	m.spent = make([]spentTimes, m.kinds)
	return m
}

// learnRuntime takes in a task that ran for so many seconds: some of them it waited for
// something else than a processor, in the others it had a share of one.
func (m *model) learnRuntime(t *flow.Task, h *flow.Host, seconds, waiting, share float64) {
	said := t.Work / h.Speed * m.prior(t.Kind, h.Class)
	if !(said > 0) || !(seconds > 0) {
		return
	}
	// What is far off is an accident, or no model at all; either way the next one
	// may tell something else.
	waiting = min(max(waiting, 0), seconds)
	alone := waiting + (seconds-waiting)*share
	m.spent[t.Kind].waiting += waiting
	m.spent[t.Kind].all += alone
	x := math.Log(min(1e4, max(1e-4, alone/said)))
	s := &m.seen[t.Kind*m.classes+h.Class]
	s.n, s.sum, s.squares = s.n+1, s.sum+x, s.squares+x*x
}

// waitingPart is which part of its time, with processors of its own, a kind of tasks waits
// for something else on a class of hosts: as those did that have ended, or else as was
// known beforehand.
func (m *model) waitingPart(kind, class int) float64 {
	if s := m.spent[kind]; s.all > 0 {
		return s.waiting / s.all
	}
	return m.waiting(kind, class)
}

// runtimeFactor is how many times the work over the speed a kind of tasks takes on a class of
// hosts.
func (m *model) runtimeFactor(kind, class int) float64 {
	return m.prior(kind, class) * m.learnedFactor(kind, class)
}

// doubt is how much the model itself counts, in tasks that were seen.
const doubt = 0.2

// learnedFactor is how many times what the model says a kind of tasks takes on a class of
// hosts. Where none has ended yet, what other classes tell counts for part.
func (m *model) learnedFactor(kind, class int) float64 {
	s := m.seen[kind*m.classes+class]
	if s.n > 0 {
		return math.Exp(s.sum / (s.n + doubt))
	}
	var all observedTimes
	for other := range m.classes {
		o := m.seen[kind*m.classes+other]
		all.n, all.sum = all.n+o.n, all.sum+o.sum
	}
	if all.n == 0 {
		return 1
	}
	return math.Exp(all.sum / (all.n + 2))
}

// Spreads of the logarithm of what tasks take: of a model of which nothing has been
// seen, and at the least of single tasks.
const (
	unseen = 0.4
	least  = 0.02
)

// kindSpread is how far the tasks of a kind differ among each other, and how far their
// mean may be off, as standard deviations of the logarithm.
func (m *model) kindSpread(kind int) (each, mean float64) {
	n, within := 0.0, 0.0
	for class := range m.classes {
		s := m.seen[kind*m.classes+class]
		if s.n > 0 {
			n += s.n
			within += max(0, s.squares-s.sum*s.sum/s.n)
		}
	}
	if n == 0 {
		return unseen / 2, unseen
	}
	// Few tasks say little about how far they differ: what was believed before
	// counts as one more.
	each = math.Sqrt((within+unseen*unseen/4)/(n+1) + least*least)
	return each, math.Sqrt(each*each/n + unseen*unseen/(n+1)/(n+1))
}
