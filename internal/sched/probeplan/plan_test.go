package probeplan

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// grid is a plan carried out on links that carry what they carry.
type grid struct {
	t     rapid.TB
	plan  *Plan
	cfg   Config
	hosts []Host
	rng   *rand.Rand
	can   []float64 // bytes a second, by link
	dead  map[int]bool
	sent  []float64
	most  []time.Duration // the longest time that one probe used a link's budget up
	until []core.Time     // busy, by link
	runs  []running
	seen  map[[2]int]core.Time // when a pair was last measured
	gap   map[[2]int]time.Duration
}

type running struct {
	Probe
	links []int
	end   core.Time
	r     Result
}

func newGrid(t rapid.TB, cfg Config, hosts []Host, seed uint64) *grid {
	g := &grid{t: t, plan: New(cfg, hosts, 0), cfg: cfg, hosts: hosts, rng: rand.New(rand.NewPCG(seed, 1)),
		dead: map[int]bool{},
		seen: map[[2]int]core.Time{}, gap: map[[2]int]time.Duration{}}
	n := len(g.plan.links)
	g.sent, g.most, g.until = make([]float64, n), make([]time.Duration, n), make([]core.Time, n)
	for range n {
		g.can = append(g.can, 1e6/8*float64(uint64(1)<<g.rng.IntN(12)))
	}
	return g
}

// linksOf is found out anew, as a twin would.
func (g *grid) linksOf(a, b int) []int {
	list := []int{a, b}
	if g.hosts[a].Site == g.hosts[b].Site {
		return list
	}
	for _, h := range []int{a, b} {
		site := 0
		seen := map[string]bool{}
		for _, o := range g.hosts {
			if o.Site == g.hosts[h].Site {
				break
			}
			if !seen[o.Site] {
				seen[o.Site] = true
				site++
			}
		}
		list = append(list, len(g.hosts)+site)
	}
	return list
}

// run carries the plan out second by second.
func (g *grid) run(from, to core.Time) {
	for now := from; now < to; now = now.Add(time.Second) {
		for i := 0; i < len(g.runs); i++ {
			if x := g.runs[i]; x.end <= now {
				g.plan.ProbeDone(now, x.Way, x.r)
				g.runs = append(g.runs[:i], g.runs[i+1:]...)
				i--
			}
		}
		for asked := 0; ; asked++ {
			p, ok := g.plan.NextProbe(now)
			if !ok {
				break
			}
			if asked > len(g.hosts) {
				g.t.Fatal("more probes at once than hosts")
			}
			g.begin(p, now)
		}
	}
}

func (g *grid) begin(p Probe, now core.Time) {
	x := running{Probe: p, links: g.linksOf(p.A, p.B), end: now.Add(time.Duration(1+g.rng.IntN(2)) * time.Second)}
	rate := 1e12
	for _, l := range x.links {
		if g.until[l] > now {
			g.t.Fatalf("at %v two probes on link %d", now.Seconds(), l)
		}
		rate = min(rate, g.can[l])
	}
	for _, l := range x.links {
		g.until[l] = x.end
	}
	if p.A == p.B || p.Bytes <= 0 {
		g.t.Fatalf("%+v", p)
	}
	x.r = Result{OK: !g.dead[p.A] && !g.dead[p.B], Mbps: rate * 8 / 1e6,
		Bytes: min(p.Bytes, int64(rate*(0.03+0.3*g.rng.Float64())))}
	if !x.r.OK {
		x.r = Result{}
	}
	for _, l := range x.links {
		g.sent[l] += float64(x.r.Bytes + probeOverhead)
		g.most[l] = max(g.most[l], core.DurationFromSeconds(float64(x.r.Bytes+probeOverhead)/(rate*g.plan.config.Budget)))
	}
	pair := [2]int{min(p.A, p.B), max(p.A, p.B)}
	g.gap[pair] = max(g.gap[pair], now.Sub(g.seen[pair]))
	g.seen[pair] = now
	g.runs = append(g.runs, x)
}

func drawHosts(t *rapid.T) []Host {
	var hosts []Host
	for s := range rapid.IntRange(1, 5).Draw(t, "sites") {
		for i := range rapid.IntRange(1, 5).Draw(t, "hosts") {
			hosts = append(hosts, Host{Name: fmt.Sprintf("s%dh%d", s, i), Site: fmt.Sprint(s)})
		}
	}
	return hosts
}

func TestProbesNeverOverlapAndKeepTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{Budget: rapid.SampledFrom([]float64{0, 0.002, 0.01}).Draw(t, "budget"),
			Every: time.Duration(rapid.IntRange(1, 60).Draw(t, "every")) * time.Second,
			Small: rapid.IntRange(1, 6).Draw(t, "small")}
		g := newGrid(t, cfg, drawHosts(t), rapid.Uint64().Draw(t, "seed"))
		for h := range g.hosts {
			g.dead[h] = rapid.IntRange(0, 4).Draw(t, "dead") == 0
		}
		const long = 20 * time.Minute
		g.run(0, core.Time(long))
		for l := range g.can {
			// What failed before anything was known of a link was not charged.
			free := float64(probeOverhead) * 60
			if allowed := g.can[l]*g.plan.config.Budget*(long+max(ahead, g.most[l])).Seconds() + free; g.sent[l] > allowed {
				t.Fatalf("link %d of %v bytes/s: %v were sent, allowed are %v", l, g.can[l], g.sent[l], allowed)
			}
		}
	})
}

// Every pair has its turn before the budget of all links has been used up twice
// by everybody who shares one with it.
func TestEveryPairHasItsTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := drawHosts(t)
		g := newGrid(t, Config{Small: 6}, hosts, rapid.Uint64().Draw(t, "seed"))
		g.run(0, core.Time(2*time.Hour))
		for i := range g.plan.ways {
			w := &g.plan.ways[i]
			pair := [2]int{min(w.a, w.b), max(w.a, w.b)}
			if _, seen := g.seen[pair]; !seen {
				t.Fatalf("%v was never measured", pair)
			}
			bound := 3 * time.Duration(g.plan.CountPaths()+2) * 70 * time.Second
			if g.gap[pair] > bound {
				t.Fatalf("%v had to wait %v, of %d ways", pair, g.gap[pair], g.plan.CountPaths())
			}
		}
	})
}

func TestWhichPairsAreMeasured(t *testing.T) {
	hosts := func(sizes ...int) (list []Host) {
		for s, n := range sizes {
			for i := range n {
				list = append(list, Host{fmt.Sprint(s, i), fmt.Sprint(s)})
			}
		}
		return list
	}
	for _, c := range []struct {
		hosts []Host
		want  int
	}{
		{hosts(10), 45}, {hosts(1), 0}, {nil, 0}, {hosts(1, 1), 1}, {hosts(2, 3, 1), 1 + 3 + 3},
		{hosts(17), 16}, {hosts(40, 2), 39 + 1 + 1},
	} {
		if got := New(Config{}, c.hosts, 0).CountPaths(); got != c.want {
			t.Errorf("%v: %d ways, want %d", c.hosts, got, c.want)
		}
	}
}

func TestWhoCannotBeReachedIsTriedMoreAndMoreRarely(t *testing.T) {
	p := New(Config{}, []Host{{"a", "x"}, {"b", "y"}}, 0)
	tries := 0
	for now := core.Time(0); now < core.Time(24*time.Hour); now = now.Add(time.Second) {
		if x, ok := p.NextProbe(now); ok {
			tries++
			p.ProbeDone(now, x.Way, Result{})
		}
	}
	if tries < 24 || tries > 40 {
		t.Errorf("%d tries in a day", tries)
	}
}

func TestWhoIsAwayIsTriedAgainSoon(t *testing.T) {
	p := New(Config{}, []Host{{"a", "x"}, {"b", "y"}}, 0)
	tries := 0
	for now := core.Time(0); now < core.Time(10*time.Minute); now = now.Add(time.Second) {
		if x, ok := p.NextProbe(now); ok {
			tries++
			p.ProbeDone(now, x.Way, Result{Away: true})
		}
	}
	if tries != int(10*time.Minute/awayPause) {
		t.Errorf("%d tries", tries)
	}
}

func TestAnotherHostStandsInForASitesRepresentative(t *testing.T) {
	p := New(Config{}, []Host{{"a1", "x"}, {"b1", "y"}, {"b2", "y"}}, 0)
	met := map[int]bool{}
	for now := core.Time(0); now < core.Time(2*time.Hour); now = now.Add(time.Second) {
		x, ok := p.NextProbe(now)
		if !ok {
			continue
		}
		// b1 is down.
		r := Result{OK: x.A != 1 && x.B != 1, Mbps: 100, Bytes: 1 << 20}
		met[x.B] = met[x.B] || r.OK && x.A == 0
		p.ProbeDone(now.Add(time.Second), x.Way, r)
	}
	if !met[2] {
		t.Error("the sites were never measured")
	}
}

func TestWhatIsLessCertainComesFirst(t *testing.T) {
	p := New(Config{Every: time.Second}, []Host{{"a", "x"}, {"b", "x"}, {"c", "x"}}, 0)
	now := core.Time(0)
	for range 3 {
		x, _ := p.NextProbe(now)
		p.ProbeDone(now, x.Way, Result{OK: true, Mbps: 1e6, Bytes: 1000})
	}
	p.SetUncertainty(1, 0.9)
	p.PathMeasured(now, p.ways[0].a, p.ways[0].b, 5)
	now = now.Add(10 * time.Minute)
	if x, ok := p.NextProbe(now); !ok || x.Way != 1 {
		t.Errorf("%+v %v", x, ok)
	}
}

// FuzzPlan: whatever is told in whatever order, no link is used twice at once and
// nothing is asked that cannot be done.
func FuzzPlan(f *testing.F) {
	f.Add([]byte{3, 1, 2, 0, 1, 9, 9, 4, 200, 7})
	f.Add([]byte{250, 250, 1, 0, 0, 0, 255, 255, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 3 || len(data) > 300 {
			return
		}
		var hosts []Host
		for i := range int(data[0]%8) + 1 {
			hosts = append(hosts, Host{fmt.Sprint(i), fmt.Sprint(i % (int(data[1]%4) + 1))})
		}
		p := New(Config{Small: int(data[2] % 5)}, hosts, 0)
		now := core.Time(0)
		under := map[int]Probe{}
		for i, b := range data[3:] {
			now = now.Add(time.Duration(b) * time.Second)
			switch b % 4 {
			case 0, 1:
				x, ok := p.NextProbe(now)
				if !ok {
					continue
				}
				for _, o := range under {
					if o.A == x.A || o.A == x.B || o.B == x.A || o.B == x.B {
						t.Fatalf("%+v beside %+v", x, o)
					}
				}
				if x.A == x.B || x.Bytes < 1 || x.Bytes > mostBytes {
					t.Fatalf("%+v", x)
				}
				under[x.Way] = x
			case 2:
				way := i % 7
				p.ProbeDone(now, way, Result{OK: b%8 > 3, Mbps: float64(b) - 20, Bytes: int64(b)<<12 - 100})
				delete(under, way)
			case 3:
				p.SetUncertainty(int(b)-9, float64(b)/50)
				p.PathMeasured(now, int(b%5), i%5, float64(b))
			}
		}
	})
}

func BenchmarkNext(b *testing.B) {
	var hosts []Host
	for i := range 160 {
		hosts = append(hosts, Host{fmt.Sprint(i), fmt.Sprint(i / 16)})
	}
	p := New(Config{}, hosts, 0)
	now := core.Time(0)
	b.ReportMetric(float64(p.CountPaths()), "ways")
	for b.Loop() {
		now = now.Add(time.Second)
		if x, ok := p.NextProbe(now); ok {
			p.ProbeDone(now, x.Way, Result{OK: true, Mbps: 100, Bytes: 1 << 20})
		}
	}
}
