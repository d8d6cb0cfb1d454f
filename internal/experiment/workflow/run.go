package workflow

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/flow"
	"github.com/godwit-hpc/godwit/internal/sched/flow/conduct"
	"github.com/godwit-hpc/godwit/internal/sim/flowsim"
)

// The ways to place instances that are compared.
const (
	Ours   = "ours"
	Static = "static plan"  // the paper's: the best of three heuristics, never changed, without load or correction
	Random = "random"       // the paper's: a node at random for each instance
	Dealt  = "random, even" // as many instances for every node, in random order
)

// PlacementNames lists them.
func PlacementNames() []string { return []string{Ours, Static, Random, Dealt} }

// A Run is one seed of a case, placed in one way.
type Run struct {
	Way     string
	Seed    uint64
	Sweep   float64 // seconds from the beginning of the sweep to its end
	Whole   float64 // of the workflow
	UH, UTK int     // instances on the nodes of each
	EndUH   float64 // seconds of the sweep until the last instance of each ended
	EndUTK  float64
	Replans int
	Bound   float64 // no way to place the sweep is shorter; 0: hosts have other work
	ByWork  float64 // work over speed, as if instances could be cut
}

// Results are all runs.
type Results struct {
	Cases []Case
	Seeds []uint64
	Runs  map[string][]Run // by case
}

// Simulate runs every case with every seed in every way.
func Simulate(ctx context.Context, cases []Case, seeds []uint64) (*Results, error) {
	res := &Results{Cases: cases, Seeds: seeds, Runs: map[string][]Run{}}
	for _, c := range cases {
		for _, seed := range seeds {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			runs, err := c.simulateSeed(seed)
			if err != nil {
				return nil, fmt.Errorf("%s, seed %d: %w", c.Name, seed, err)
			}
			res.Runs[c.Name] = append(res.Runs[c.Name], runs...)
		}
	}
	return res, nil
}

func (c *Case) simulateSeed(seed uint64) ([]Run, error) {
	g, err := c.makeGrid()
	if err != nil {
		return nil, err
	}
	d, err := c.makeDAG()
	if err != nil {
		return nil, err
	}
	w := c.drawWorld(d, seed)
	// The plan of the paper: no load, and the model as it is.
	plan := flow.NewGrid(g.Hosts, g.Sites, g.Route)
	plan.CorrectSpeeds(finish+1, c.modelFactor)
	first, err := flow.New(d, plan, flow.Options{Heuristics: []string{flow.MinMin, flow.MaxMin, flow.Suffer}})
	if err != nil {
		return nil, err
	}
	var runs []Run
	for _, way := range PlacementNames() {
		cfg := flowsim.Config{
			Grid: g, DAG: d, Loads: w.loads, Sense: c.seconds / 8, Noise: sensorNoise(seed),
			Truth:   func(task, host int) float64 { return trueSeconds(w, d, g, task, host) },
			Conduct: conduct.Config{Prior: c.modelFactor},
		}
		switch way {
		case Static:
			cfg.Conduct.First, cfg.Conduct.Static = first.Schedule, true
		case Random, Dealt:
			cfg.Conduct.First, cfg.Conduct.Static = scatterSweep(d, g, first.Schedule, seed, way == Dealt), true
		}
		res, err := flowsim.Run(cfg)
		if err != nil {
			return nil, err
		}
		if res.Stuck || len(res.Failed) > 0 {
			return nil, fmt.Errorf("placed by %s, the workflow did not end", way)
		}
		run, home := measureSweep(d, g, res)
		run.Way, run.Seed = way, seed
		if c.Loaded == 0 {
			run.Bound, run.ByWork = lowerBounds(w, d, g, c.clusterLines(g, home))
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// sensorNoise is by how much sensors are off.
func sensorNoise(seed uint64) func(int) float64 {
	r := rand.New(rand.NewPCG(seed, 4))
	return func(int) float64 { return 0.03 * r.NormFloat64() }
}

// scatterSweep places the instances of the sweep at random.
func scatterSweep(d *flow.DAG, g *flowsim.Grid, s *flow.Schedule, seed uint64, even bool) *flow.Schedule {
	r := rand.New(rand.NewPCG(seed, 5))
	c := &flow.Schedule{Slots: append([]flow.Slot(nil), s.Slots...), Makespan: s.Makespan, Wide: s.Wide}
	var deck []int
	for t := range d.Tasks {
		if d.Tasks[t].Kind != sweep {
			continue
		}
		host := r.IntN(len(g.Hosts))
		if even {
			if len(deck) == 0 {
				deck = r.Perm(len(g.Hosts))
			}
			host, deck = deck[0], deck[1:]
		}
		c.Slots[t].Host, c.Slots[t].Core = host, 0
	}
	return c
}

// measureSweep is what a run shows of the sweep, and the cluster in which its input is made.
func measureSweep(d *flow.DAG, g *flowsim.Grid, res *flowsim.Result) (run Run, home int) {
	run = Run{Whole: res.Makespan, Replans: len(res.Notes) - 1}
	begin, end := res.Makespan, 0.0
	for t := range d.Tasks {
		if d.Tasks[t].Name == "proc2d" {
			begin, home = res.Tasks[t].End, g.Hosts[res.Tasks[t].Host].Class
		}
	}
	for t := range d.Tasks {
		if d.Tasks[t].Kind != sweep {
			continue
		}
		x := &res.Tasks[t]
		end = max(end, x.End)
		if g.Hosts[x.Host].Class == 0 {
			run.UH++
			run.EndUH = max(run.EndUH, x.End-begin)
		} else {
			run.UTK++
			run.EndUTK = max(run.EndUTK, x.End-begin)
		}
	}
	run.Sweep = end - begin
	return run, home
}

// A line is the way to the nodes of a cluster from where the input of the sweep is
// made: how long one instance's part travels if it has the line for itself.
type line struct{ latency, each float64 }

// clusterLines are the ways to both clusters. Within the one that makes the input they are
// taken as if they took no time.
func (c *Case) clusterLines(g *flowsim.Grid, home int) [2]line {
	var l [2]line
	r := g.Route(home, 1-home) // sites are clusters here
	l[1-home] = line{r.Latency, r.PerByte * c.bytes}
	return l
}

// lowerBounds are times that no placement of the sweep can beat on nodes without other
// work: the work over the speed of all nodes, as if instances could be cut and files
// took no time; and what is left of that when they cannot, and the first file of each
// node must come over the line that all share.
func lowerBounds(w *world, d *flow.DAG, g *flowsim.Grid, lines [2]line) (bound, byWork float64) {
	var work []float64
	speed := 0.0
	for t := range d.Tasks {
		if d.Tasks[t].Kind == sweep {
			work = append(work, d.Tasks[t].Work*w.truth[t])
		}
	}
	nodes, slow := map[int]int{}, map[int]float64{}
	for _, h := range g.Hosts {
		speed += h.Speed
		nodes[h.Class]++
		slow[h.Class] = 1 / h.Speed
	}
	slices.Sort(work)
	sum := make([]float64, len(work)+1) // of the smallest
	for i, x := range work {
		sum[i+1] = sum[i] + x
	}
	byWork = sum[len(work)] / speed
	best := math.Inf(1)
	for m := range len(work) + 1 {
		best = min(best, max(atLeast(sum, m, nodes[0], slow[0], lines[0]),
			atLeast(sum, len(work)-m, nodes[1], slow[1], lines[1])))
	}
	return max(best, byWork), byWork
}

// atLeast is how long so many like nodes need for m instances, whichever these are. If
// each had q of them and r were left over, the r nodes with the most have r·(q+1)
// together or more, and are not through before the smallest of that number are.
func atLeast(sum []float64, m, nodes int, slow float64, l line) float64 {
	if m == 0 {
		return 0
	}
	q, r := m/nodes, m%nodes
	t := partedTime(sum[m]*slow, nodes, l)
	if r > 0 {
		t = max(t, partedTime(sum[r*(q+1)]*slow, r, l))
	}
	return t
}

// partedTime is how long work takes that at most so many nodes share, if the first of them
// can begin when one file is there, the second when two are, and so on.
func partedTime(work float64, nodes int, l line) float64 {
	least := math.Inf(1)
	for n := 1; n <= nodes; n++ {
		least = min(least, work/float64(n)+l.each*float64(n+1)/2)
	}
	return least + l.latency
}
