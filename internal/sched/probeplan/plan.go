package probeplan

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Host is where a sensor is.
type Host struct {
	Name string
	Site string // hosts of one site reach each other without using its link to the others
}

// Config says how much may be measured. The zero Config will do.
type Config struct {
	Budget float64       // part of a link that probes may use in the mean; 0: 0.005
	Every  time.Duration // a way is not measured more often; 0: 30 s
	Small  int           // of so many hosts, or sites, all pairs are measured; 0: 16
}

const (
	usualBudget = 0.005
	usualEvery  = 30 * time.Second
	usualSmall  = 16
	// ahead is how much of a link's budget may be used before its time.
	ahead = 25 * time.Second
	// guessed is how long a probe of a way takes that was not measured yet.
	guessed = 60 * time.Millisecond
	// atOnce is how much of it one probe may use.
	atOnce = time.Minute
	// firstBytes is how much may be sent over a link of which nothing is known.
	firstBytes = 16 << 20
	leastBytes = 256 << 10
	mostBytes  = 1 << 30
	// probeOverhead is what a probe sends besides: to say hello, to agree, to say farewell.
	probeOverhead = 12 << 10
	// firstPause is how long who could not be reached is left alone, and it
	// doubles up to longestPause.
	firstPause   = 30 * time.Second
	awayPause    = 15 * time.Second
	longestPause = time.Hour
	// maxFailures is after how many failures another pair stands for two sites.
	maxFailures = 3
)

// Plan is the state of all ways.
type Plan struct {
	config Config
	hosts  []Host
	links  []link
	ways   []probePath
}

// link is a host's, or a site's to the others.
type link struct {
	busy bool
	// paid is until when its budget is used up.
	paid core.Time
	ways []int // that use it
}

// probePath is a pair of hosts that is measured.
type probePath struct {
	a, b      int   // hosts
	links     []int // that it uses
	as, bs    []int // hosts that may stand in for a and b
	last      core.Time
	known     bool    // it was measured, at last
	rate      float64 // bytes a second, the faster direction
	bytes     float64 // that it took
	uncertain float64 // 0 to 1
	failures  int     // since
	not       core.Time
	under     bool // way, that is
	began     core.Time
}

// Probe is what to measure.
type Probe struct {
	Way   int // its number
	A, B  int // hosts
	Bytes int64
}

// Result is what came of a probe.
type Result struct {
	OK    bool
	Away  bool    // not even the sensors could be asked: that says nothing of the way
	Mbps  float64 // the faster of both directions
	Bytes int64   // that were sent, the more of both directions
}

// New is the plan for these hosts from now on.
func New(c Config, hosts []Host, now core.Time) *Plan {
	if c.Budget <= 0 {
		c.Budget = usualBudget
	}
	if c.Every <= 0 {
		c.Every = usualEvery
	}
	if c.Small <= 0 {
		c.Small = usualSmall
	}
	p := &Plan{config: c, hosts: slices.Clone(hosts)}
	var sites []string
	members := map[string][]int{}
	for i, h := range hosts {
		if _, known := members[h.Site]; !known {
			sites = append(sites, h.Site)
		}
		members[h.Site] = append(members[h.Site], i)
	}
	p.links = make([]link, len(hosts)+len(sites))
	for i := range p.links {
		p.links[i].paid = now
	}
	// At first in this order: what those can that stand for their sites, then what
	// lies between the sites, which matters to transfers, then the rest.
	var rest []probePath
	for _, s := range sites {
		m := members[s]
		c.eachPair(len(m), func(i, j int) {
			if w := (probePath{a: m[i], b: m[j]}); i == 0 && j == 1 {
				p.ways = append(p.ways, w)
			} else {
				rest = append(rest, w)
			}
		})
	}
	c.eachPair(len(sites), func(i, j int) {
		as, bs := members[sites[i]], members[sites[j]]
		p.ways = append(p.ways, probePath{a: as[0], b: bs[0], as: as, bs: bs, links: []int{len(hosts) + i, len(hosts) + j}})
	})
	p.ways = append(p.ways, rest...)
	for i := range p.ways {
		for _, l := range p.ways[i].links {
			p.links[l].ways = append(p.links[l].ways, i)
		}
		for _, h := range []int{p.ways[i].a, p.ways[i].b} {
			p.links[h].ways = append(p.links[h].ways, i)
		}
	}
	return p
}

// eachPair are those of n that are measured.
func (c *Config) eachPair(n int, do func(i, j int)) {
	for i := range n {
		for j := i + 1; j < n && (n <= c.Small || i == 0); j++ {
			do(i, j)
		}
	}
}

// CountPaths is how many are measured.
func (p *Plan) CountPaths() int { return len(p.ways) }

// eachLink calls do with all links of a way.
func (p *Plan) eachLink(w *probePath, do func(l int)) {
	do(w.a)
	do(w.b)
	for _, l := range w.links {
		do(l)
	}
}

// linkCapacity is what a link is known to carry, in bytes a second: as much as the
// fastest way over it did last time. 0: nothing is known.
func (p *Plan) linkCapacity(l int) float64 {
	most := 0.0
	for _, i := range p.links[l].ways {
		if w := &p.ways[i]; w.known {
			most = max(most, w.rate)
		}
	}
	return most
}

// budgetSeconds is for how long the budget of a link that is known is used up by so many
// bytes.
func (p *Plan) budgetSeconds(l int, bytes float64) time.Duration {
	return core.DurationFromSeconds(bytes / (p.linkCapacity(l) * p.config.Budget))
}

// NextProbe is what to measure now, beside what is under way; false if nothing is to
// be. Ask until then.
func (p *Plan) NextProbe(now core.Time) (Probe, bool) {
	var due []int
	for i := range p.ways {
		if w := &p.ways[i]; !w.under && w.not <= now {
			due = append(due, i)
		}
	}
	urgency := make([]float64, len(p.ways))
	for _, i := range due {
		urgency[i] = p.ways[i].probeUrgency(now)
	}
	slices.SortStableFunc(due, func(i, j int) int { return cmp.Compare(urgency[j], urgency[i]) })
	// Who has to wait for one link keeps those that come after from using the
	// others up: else it might never find all of them free.
	kept := make([]bool, len(p.links))
	for _, i := range due {
		w := &p.ways[i]
		free := true
		p.eachLink(w, func(l int) { free = free && !kept[l] && p.canAfford(w, l, now) })
		if free {
			return p.beginProbe(i, now), true
		}
		p.eachLink(w, func(l int) { kept[l] = true })
	}
	return Probe{}, false
}

// probeUrgency is how much a way deserves to be next: how long ago it was measured,
// and the longer the less certain it is.
func (w *probePath) probeUrgency(now core.Time) float64 {
	if !w.known && w.failures == 0 {
		return math.Inf(1)
	}
	return now.Sub(w.last).Seconds() * (0.25 + w.uncertain)
}

// canAfford reports whether a link is free and has the budget for a way.
func (p *Plan) canAfford(w *probePath, l int, now core.Time) bool {
	if p.links[l].busy {
		return false
	}
	price := core.DurationFromSeconds(guessed.Seconds() / p.config.Budget)
	if w.known && p.linkCapacity(l) > 0 {
		price = p.budgetSeconds(l, w.bytes)
	}
	return p.links[l].paid <= now.Add(max(0, ahead-price))
}

func (p *Plan) beginProbe(i int, now core.Time) Probe {
	w := &p.ways[i]
	w.under, w.began = true, now
	most := float64(mostBytes)
	p.eachLink(w, func(l int) {
		p.links[l].busy = true
		allowed := float64(firstBytes)
		if c := p.linkCapacity(l); c > 0 {
			allowed = max(leastBytes, c*p.config.Budget*atOnce.Seconds())
		}
		most = min(most, allowed)
	})
	return Probe{Way: i, A: w.a, B: w.b, Bytes: int64(most)}
}

// ProbeDone tells what came of a probe.
func (p *Plan) ProbeDone(now core.Time, way int, r Result) {
	if way < 0 || way >= len(p.ways) || !p.ways[way].under {
		return
	}
	w := &p.ways[way]
	w.under, w.last = false, now
	p.eachLink(w, func(l int) { p.links[l].busy = false })
	if r.OK = r.OK && r.Mbps > 0; r.OK {
		w.known, w.failures, w.rate, w.bytes = true, 0, r.Mbps*1e6/8, float64(r.Bytes+probeOverhead)
		w.not = w.began.Add(p.config.Every)
	}
	p.eachLink(w, func(l int) {
		if p.linkCapacity(l) > 0 && !r.Away {
			k := &p.links[l]
			k.paid = max(k.paid, w.began).Add(p.budgetSeconds(l, float64(max(r.Bytes, 0)+probeOverhead)))
		}
	})
	switch {
	case r.OK:
	case r.Away:
		w.not = now.Add(awayPause)
	default:
		p.probeFailed(w, way, now)
	}
}

// probeFailed leaves a way alone for a while, and has others stand in for hosts that
// stand for their sites.
func (p *Plan) probeFailed(w *probePath, number int, now core.Time) {
	w.failures++
	pause := firstPause << min(w.failures-1, 10)
	w.not = now.Add(min(max(pause, p.config.Every), longestPause))
	if w.failures%maxFailures != 0 || len(w.as)*len(w.bs) < 2 {
		return
	}
	turn := w.failures / maxFailures
	for _, h := range []int{w.a, w.b} {
		p.links[h].ways = slices.DeleteFunc(p.links[h].ways, func(i int) bool { return i == number })
	}
	w.a, w.b = w.as[turn%len(w.as)], w.bs[turn/len(w.as)%len(w.bs)]
	for _, h := range []int{w.a, w.b} {
		p.links[h].ways = append(p.links[h].ways, number)
	}
	w.known = false
}

// SetUncertainty tells how uncertain the forecast of a way is, as a part of it.
func (p *Plan) SetUncertainty(way int, x float64) {
	if way >= 0 && way < len(p.ways) && !math.IsNaN(x) {
		p.ways[way].uncertain = min(max(x, 0), 1)
	}
}

// PathMeasured says that something else has just told how fast a way is: it need not be
// probed before its time comes again.
func (p *Plan) PathMeasured(now core.Time, a, b int, mbps float64) {
	for i := range p.ways {
		w := &p.ways[i]
		if (w.a == a && w.b == b || w.a == b && w.b == a) && !w.under && mbps > 0 {
			w.last, w.not = now, max(w.not, now.Add(p.config.Every))
		}
	}
}
