package flow

// A Host is what a plan needs to know of one.
type Host struct {
	Name   string
	Site   int // hosts of one site have the same routes to all others
	Cores  int
	Speed  float64 // that a task gets: what is left to it of the speed of its core
	Share  float64 // of its core that Speed stands for; 0: 1. See Grid.SpareWaiting
	Memory int64   // bytes; 0: unknown, taken as enough
	Class  int     // what is found out about a kind of tasks on one host holds for its class
	Down   bool    // runs nothing
}

// A Route is the way between two hosts.
type Route struct {
	Latency float64 // seconds
	PerByte float64 // seconds
}

// transferSeconds is how long the files of an edge travel, one after another.
func (r Route) transferSeconds(l link) float64 {
	if l.bytes < 0 {
		return 0
	}
	return float64(l.files)*r.Latency + l.bytes*r.PerByte
}

// A Grid is the hosts and the routes between them. It does not change.
type Grid struct {
	Hosts  []Host
	sites  int
	routes []Route // from site a to site b at a·sites + b; a to a: to another host of a
	groups []group
	where  []int32   // site of each group
	slow   []float64 // seconds per second of work in each group
	in     []int32   // group of each host
	site   []int32   // and its site and speed, close together in memory
	speed  []float64
	core   []int32     // first core of each host, counted over all; one more than hosts
	rows   [][]float64 // of each kind of tasks what slow is for all of them; nil: they are alike
	blocks *blocks     // nil: groups are few
}

// A group is hosts that no heuristic needs to tell apart.
type group struct {
	kind  kind
	hosts []int32
}

type kind struct {
	site, cores int
	speed       float64
	share       float64
	memory      int64
	class       int
	down        bool
}

// NewGrid groups the hosts. route is asked once for every pair of sites; from a
// site to itself it is the way between two of its hosts.
func NewGrid(hosts []Host, sites int, route func(from, to int) Route) *Grid {
	g := &Grid{Hosts: hosts, sites: sites, routes: make([]Route, sites*sites)}
	for a := range sites {
		for b := range sites {
			g.routes[a*sites+b] = route(a, b)
		}
	}
	g.groupHosts()
	return g
}

func (g *Grid) groupHosts() {
	known := map[kind]int32{}
	g.in = make([]int32, len(g.Hosts))
	g.core = make([]int32, len(g.Hosts)+1)
	g.site = make([]int32, len(g.Hosts))
	g.speed = make([]float64, len(g.Hosts))
	for h, host := range g.Hosts {
		k := kind{host.Site, host.Cores, host.Speed, host.Share, host.Memory, host.Class, host.Down}
		at, ok := known[k]
		if !ok {
			at = int32(len(g.groups))
			known[k] = at
			g.groups = append(g.groups, group{kind: k})
			g.where = append(g.where, int32(k.site))
			g.slow = append(g.slow, 1/k.speed)
		}
		g.groups[at].hosts = append(g.groups[at].hosts, int32(h))
		g.in[h], g.site[h], g.speed[h] = at, int32(host.Site), host.Speed
		g.core[h+1] = g.core[h] + int32(host.Cores)
	}
	g.blocks = newBlocks(g)
}

// CorrectSpeeds says that tasks of a kind take longer on a class of hosts than their
// speed alone tells, by a factor: a model that is wrong, or hosts that suit them.
func (g *Grid) CorrectSpeeds(kinds int, factor func(kind, class int) float64) {
	g.rows = make([][]float64, kinds)
	for k := range g.rows {
		g.rows[k] = make([]float64, len(g.groups))
		for gr := range g.groups {
			g.rows[k][gr] = g.slow[gr] * factor(k, g.groups[gr].kind.class)
		}
	}
	g.rankBlocks()
}

// SpareWaiting says which part of its time on a core of its own a kind of tasks waits for
// something else than a processor on a class of hosts. That part takes as long where a
// task gets less than the whole core. It follows CorrectSpeeds, for as many kinds.
func (g *Grid) SpareWaiting(waiting func(kind, class int) float64) {
	for k, row := range g.rows {
		for gr := range row {
			if on := &g.groups[gr].kind; on.share > 0 {
				row[gr] *= 1 - waiting(k, on.class)*(1-on.share)
			}
		}
	}
	g.rankBlocks()
}

// rankBlocks tells the blocks what the kinds of tasks take in them.
func (g *Grid) rankBlocks() {
	if g.blocks == nil {
		return
	}
	g.blocks.rows = make([][]float64, len(g.rows))
	for k := range g.rows {
		g.blocks.rows[k] = g.blocks.leastPace(g.rows[k])
	}
}

// taskPace is the seconds per second of work of a task in each group.
func (g *Grid) taskPace(t *Task) []float64 {
	if g.rows == nil {
		return g.slow
	}
	return g.rows[t.Kind]
}

// groupRuntime is how long a task runs in a group.
func (g *Grid) groupRuntime(t *Task, gr int32) float64 {
	if g.rows == nil {
		return t.Work / g.groups[gr].kind.speed
	}
	return t.Work * g.rows[t.Kind][gr]
}

// HostRuntime is how long a task runs on a host.
func (g *Grid) HostRuntime(t *Task, host int) float64 { return g.groupRuntime(t, g.in[host]) }

// TransferSeconds is how long the files of an edge take from one host to another.
func (g *Grid) TransferSeconds(from, to int, e Edge) float64 {
	return g.transferSeconds(int32(from), int32(to), newLink(e.From, e))
}

// FirstCore is the number of a host's first core, counted over all hosts.
func (g *Grid) FirstCore(host int) int { return int(g.core[host]) }

// CoreCount is the number of cores of all hosts.
func (g *Grid) CoreCount() int { return int(g.core[len(g.Hosts)]) }

func (g *Grid) routeBetween(from, to int) Route { return g.routes[from*g.sites+to] }

// transferSeconds is how long the files of an edge take from one host to another.
func (g *Grid) transferSeconds(from, to int32, l link) float64 {
	if from == to {
		return 0
	}
	return g.routeBetween(int(g.site[from]), int(g.site[to])).transferSeconds(l)
}

// reversedRoutes is the grid on which time runs backwards.
func (g *Grid) reversedRoutes() *Grid {
	r := *g
	r.routes = make([]Route, len(g.routes))
	for a := range g.sites {
		for b := range g.sites {
			r.routes[b*g.sites+a] = g.routes[a*g.sites+b]
		}
	}
	return &r
}

// meetsRequirements tells whether hosts of the kind meet what the task requires.
func (k *kind) meetsRequirements(t *Task) bool {
	return (k.memory == 0 || t.Memory <= k.memory) && t.Cores <= k.cores && !k.down && (t.Only == nil || t.Only[k.class])
}

// means are the averages that upward ranks are made of.
type means struct {
	slowness float64 // seconds per second of work, over all cores
	route    Route   // over all pairs of different hosts
}

func (g *Grid) meanCosts() means {
	var m means
	count := make([]float64, g.sites)
	for _, h := range g.Hosts {
		m.slowness += float64(h.Cores) / h.Speed
		count[h.Site]++
	}
	m.slowness /= float64(g.CoreCount())
	var pairs float64
	for a := range g.sites {
		for b := range g.sites {
			n := count[a] * count[b]
			if a == b {
				n -= count[a]
			}
			pairs += n
			m.route.Latency += n * g.routeBetween(a, b).Latency
			m.route.PerByte += n * g.routeBetween(a, b).PerByte
		}
	}
	if pairs > 0 {
		m.route.Latency /= pairs
		m.route.PerByte /= pairs
	}
	return m
}
