package netflow

import (
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/heap"
)

// A link as the filling sees it.
type link struct {
	capacity float64 // bytes per second
	shared   bool
	users    []user // bundles that move over it

	mark  uint64  // of the filling that has visited it
	dirty bool    // since the last filling
	taken float64 // by bundles whose rate is found
	lost  float64 // what adding to taken has rounded off (Neumaier)
	share float64 // bundles' flows, times how often they cross, that still rise
}

// A user is a bundle, and which of its uses is of this link.
type user struct {
	bundle *bundle
	use    int
}

// fillLevel is the rate at which the link is full if the flows on it that still
// rise go on rising together.
func (l *link) fillLevel() float64 {
	return max(0, l.capacity-l.taken-l.lost) / l.share
}

func (l *link) takeCapacity(x float64) {
	sum := l.taken + x
	if l.taken >= x {
		l.lost += l.taken - sum + x
	} else {
		l.lost += x - sum + l.taken
	}
	l.taken = sum
}

// filling is what has changed since the last one, and its scratch space.
type filling struct {
	epoch   uint64
	touched []int     // links that are dirty
	loose   []*bundle // bundles without shared links whose rate is out of date

	links   []int // the component
	bundles []*bundle
	capped  []*bundle // those that fat pipes bound, lowest first
	order   heap.Heap[*level]
	levels  []level
}

// A level stands for a link in the order of filling.
type level struct {
	link int
	rate float64
}

// IsBefore orders levels by their rate.
func (a *level) IsBefore(b *level) bool {
	return a.rate < b.rate || a.rate == b.rate && a.link < b.link
}

// SetPosition is not needed: only the foremost level changes.
func (a *level) SetPosition(int) {}

// linkChanged notes that the rates over a link are out of date.
func (n *Net) linkChanged(i int) {
	l := &n.links[i]
	if l.shared {
		if !l.dirty {
			l.dirty = true
			n.work.touched = append(n.work.touched, i)
		}
		return
	}
	for _, u := range l.users {
		n.bundleResized(u.bundle)
		n.work.loose = append(n.work.loose, u.bundle)
	}
}

// bundleResized notes that a bundle takes more or less of its links than before.
func (n *Net) bundleResized(b *bundle) {
	shared := false
	for _, u := range b.uses {
		if n.links[u.link].shared {
			n.linkChanged(int(u.link))
			shared = true
		}
	}
	if !shared && b.rate == 0 {
		n.work.loose = append(n.work.loose, b)
	}
}

// settleRates finds the rates that hold from now on. Several changes at one moment
// are settled together, when somebody asks.
func (n *Net) settleRates() {
	if len(n.work.touched) == 0 && len(n.work.loose) == 0 {
		return
	}
	n.collectAffected()
	n.fillRates()
	for _, b := range n.work.bundles {
		n.setRate(b, b.filled)
	}
	clear(n.work.bundles)
}

// collectAffected finds all links and bundles that what has changed can affect: a
// bundle joins the links it crosses, a shared link the bundles that cross it.
func (n *Net) collectAffected() {
	f := &n.work
	f.epoch++
	f.links, f.bundles, f.capped = f.links[:0], f.bundles[:0], f.capped[:0]
	for _, i := range f.touched {
		n.links[i].dirty = false
		n.visitLink(i)
	}
	for _, b := range f.loose {
		if len(b.flows) > 0 {
			n.visitBundle(b)
		}
	}
	f.touched = f.touched[:0]
	clear(f.loose)
	f.loose = f.loose[:0]

	// Both lists grow while they are walked.
	for i, j := 0, 0; i < len(f.links) || j < len(f.bundles); {
		for ; i < len(f.links); i++ {
			for _, u := range n.links[f.links[i]].users {
				n.visitBundle(u.bundle)
			}
		}
		for ; j < len(f.bundles); j++ {
			n.visitUses(f.bundles[j])
		}
	}
}

func (n *Net) visitLink(i int) {
	l := &n.links[i]
	if l.mark != n.work.epoch {
		l.mark = n.work.epoch
		l.taken, l.lost, l.share = 0, 0, 0
		n.work.links = append(n.work.links, i)
	}
}

func (n *Net) visitBundle(b *bundle) {
	if b.mark != n.work.epoch {
		b.mark, b.frozen, b.ceiling = n.work.epoch, false, math.Inf(1)
		n.work.bundles = append(n.work.bundles, b)
	}
}

// visitUses adds a bundle to its links.
func (n *Net) visitUses(b *bundle) {
	for _, u := range b.uses {
		l := &n.links[u.link]
		if !l.shared {
			b.ceiling = min(b.ceiling, l.capacity)
			continue
		}
		n.visitLink(int(u.link))
		l.share += b.linkWeight(u)
	}
	if !math.IsInf(b.ceiling, 1) {
		n.work.capped = append(n.work.capped, b)
	}
}

// linkWeight is how many flows a use puts on its link.
func (b *bundle) linkWeight(u use) float64 { return float64(u.times) * float64(len(b.flows)) }

// fillRates raises all rates of the component together. The lowest level comes
// first: that of a link, whose flows then have their rate, or the ceiling of a
// bundle. Taking flows out at a level does not lower the level of any other
// link, so that a link whose level has risen in the meantime is put back.
func (n *Net) fillRates() {
	f := &n.work
	slices.SortStableFunc(f.capped, func(a, b *bundle) int {
		switch {
		case a.ceiling < b.ceiling:
			return -1
		case a.ceiling > b.ceiling:
			return 1
		}
		return 0
	})
	f.order = f.order[:0]
	f.levels = slices.Grow(f.levels[:0], len(f.links))[:len(f.links)]
	for i, l := range f.links {
		f.levels[i] = level{l, n.links[l].fillLevel()}
		if n.links[l].share > 0 {
			f.order.Push(&f.levels[i])
		}
	}
	capped := f.capped
	for len(f.order) > 0 || len(capped) > 0 {
		if len(capped) > 0 && (len(f.order) == 0 || capped[0].ceiling <= f.order[0].rate) {
			if !capped[0].frozen {
				n.freezeRate(capped[0], capped[0].ceiling)
			}
			capped = capped[1:]
			continue
		}
		n.fillLink(f.order[0])
	}
}

// fillLink takes the foremost link: it is full at its level, unless that has
// risen.
func (n *Net) fillLink(at *level) {
	l := &n.links[at.link]
	if l.share > 0 {
		if rate := l.fillLevel(); rate > at.rate {
			at.rate = rate
			n.work.order.FixAt(0)
			return
		}
	}
	n.work.order.Pop()
	for _, u := range l.users {
		if !u.bundle.frozen {
			n.freezeRate(u.bundle, at.rate)
		}
	}
}

// freezeRate gives a bundle its rate.
func (n *Net) freezeRate(b *bundle, rate float64) {
	b.frozen, b.filled = true, rate
	for _, u := range b.uses {
		if l := &n.links[u.link]; l.shared {
			w := b.linkWeight(u)
			l.takeCapacity(w * rate)
			l.share -= w
		}
	}
}
