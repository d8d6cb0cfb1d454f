package workflow

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
	"github.com/godwit-hpc/godwit/internal/sim/flowsim"
)

// The ranks of an instance of classesbymra on a node of each cluster, as the paper
// gives them: their ratio is that of the speeds.
const (
	rankUH  = 5077.76
	rankUTK = 8844.91
)

// Seconds of an instance of the sweep on a node of UH, from the paper's tables: 68
// instances on 6 nodes in 84 h 30 min are twelve rounds of 7 h 2 min; 38 instances on
// 2 nodes in 12 min 42 s are nineteen rounds of 40 s.
const (
	rdvInstance   = 25350.0
	groelInstance = 40.1
)

// The wrong model: 4.57 where 7.60 is right, on nodes of UH.
const tooFast = 4.57 / 7.60

// A Case is one line of the experiment.
type Case struct {
	Name      string
	Table     string // of the paper
	Instances int
	UH, UTK   int // nodes
	Loaded    int // nodes of UH with other work
	Wrong     bool
	seconds   float64 // of an instance on a node of UH
	bytes     float64 // of the input of an instance
	Paper     [4]string
}

// PaperCases are the four of the paper, and those with all 13 nodes that its tables
// II and III leave out.
func PaperCases() []Case {
	const mb = 1e6
	return []Case{
		{Name: "rdv, unloaded", Table: "I", Instances: 110, UH: 6, UTK: 7, seconds: rdvInstance, bytes: 2000 * mb / 110,
			Paper: [4]string{"84 h 30 min", "–", "68 / 42", "–"}},
		{Name: "GrOEL, unloaded", Table: "II", Instances: 98, UH: 2, UTK: 7, seconds: groelInstance, bytes: 200 * mb / 98,
			Paper: [4]string{"12 min 42 s", "15 min 48 s", "38 / 60", "17 / 81"}},
		{Name: "GrOEL, loaded", Table: "III", Instances: 98, UH: 5, UTK: 7, Loaded: 5, seconds: groelInstance,
			bytes: 200 * mb / 98,
			Paper: [4]string{"16 min 41 s", "10 min 28 s", "60 / 38", "44 / 54"}},
		{Name: "GrOEL, wrong model", Table: "IV", Instances: 98, UH: 6, UTK: 7, Wrong: true, seconds: groelInstance,
			bytes: 200 * mb / 98,
			Paper: [4]string{"21 min 37 s", "10 min 30 s", "77 / 21", "45 / 53"}},
		{Name: "GrOEL, unloaded, 6 + 7", Instances: 98, UH: 6, UTK: 7, seconds: groelInstance, bytes: 200 * mb / 98},
		{Name: "GrOEL, loaded, 6 + 7", Instances: 98, UH: 6, UTK: 7, Loaded: 5, seconds: groelInstance, bytes: 200 * mb / 98},
		{Name: "rdv, loaded", Instances: 110, UH: 6, UTK: 7, Loaded: 5, seconds: rdvInstance, bytes: 2000 * mb / 110},
		{Name: "rdv, wrong model", Instances: 110, UH: 6, UTK: 7, Wrong: true, seconds: rdvInstance, bytes: 2000 * mb / 110},
	}
}

// makeGrid is the nodes of a case; the two clusters are joined as in the paper's time.
func (c *Case) makeGrid() (*flowsim.Grid, error) {
	text := fmt.Sprintf(`
clusters:
  - {name: uh, hosts: %d, cores: 1, speed: 1, link: {mbps: 1000, ms: 0.1}}
  - {name: utk, hosts: %d, cores: 1, speed: %.6f, link: {mbps: 100, ms: 0.1}}
links:
  - {a: uh, b: utk, mbps: 45, ms: 20}
`, c.UH, c.UTK, rankUH/rankUTK)
	p, err := platform.Parse(c.Name, []byte(text))
	if err != nil {
		return nil, err
	}
	return flowsim.NewGrid(p, true), nil
}

// The kinds of tasks of the refinement.
const (
	prepare = iota
	sweep
	align
	finish
)

// makeDAG is the refinement: proc3d, project3d, proc2d, the sweep classesbymra,
// classalign2 (parallel, in one cluster), make3d, proc3d twice. Times beside the
// sweep are the paper's for rdv, in proportion for GrOEL. Work is what the model
// says on a node of speed 1.
func (c *Case) makeDAG() (*flow.DAG, error) {
	part := c.seconds / rdvInstance
	var tasks []flow.Task
	var edges []flow.Edge
	add := func(name string, kind int, seconds float64, wide int) int {
		tasks = append(tasks, flow.Task{Name: name, Kind: kind, Work: seconds * part, Wide: wide})
		return len(tasks) - 1
	}
	chain := func(bytes float64, ids ...int) {
		for i := 1; i < len(ids); i++ {
			edges = append(edges, flow.Edge{From: ids[i-1], To: ids[i], Bytes: bytes})
		}
	}
	first := add("proc3d-1", prepare, 40, 1)
	project := add("project3d", prepare, 108*60, 1)
	images := add("proc2d", prepare, 40, 1)
	chain(1e6, first, project, images)
	wide := min(c.UH, c.UTK, 6)
	joined := add("classalign2", align, 45*60, wide)
	for i := range c.Instances {
		t := add(fmt.Sprintf("classesbymra-%d", i+1), sweep, rdvInstance, 1)
		edges = append(edges, flow.Edge{From: images, To: t, Bytes: c.bytes},
			flow.Edge{From: t, To: joined, Bytes: c.bytes / 4})
	}
	chain(1e6, joined, add("make3d", finish, 47*60, 1), add("proc3d-2", finish, 40, 1), add("proc3d-3", finish, 40, 1))
	return flow.NewDAG(tasks, edges)
}

// A world is what happens in one seed of a case, whoever decides.
type world struct {
	truth []float64 // times what the model says, of each task
	loads []flowsim.Load
}

// drawWorld draws what is left to chance: instances differ by a per cent or so, and nodes
// with other work have it most of the time, one or two processes beside ours.
func (c *Case) drawWorld(d *flow.DAG, seed uint64) *world {
	r := rand.New(rand.NewPCG(seed, 3))
	w := &world{truth: make([]float64, len(d.Tasks))}
	const differ = 0.01
	for t := range w.truth {
		w.truth[t] = math.Exp(differ * r.NormFloat64())
	}
	until := 60 * c.seconds
	for h := range c.Loaded {
		at := 0.0
		if r.Float64() < 0.15 {
			at = c.seconds * r.ExpFloat64()
		}
		for at < until {
			w.loads = append(w.loads, flowsim.Load{At: at, Host: h, Share: 1 / float64(2+r.IntN(2))})
			at += c.seconds * (1 + 4*r.ExpFloat64())
			w.loads = append(w.loads, flowsim.Load{At: at, Host: h, Share: 1})
			at += c.seconds * (0.2 + 0.8*r.ExpFloat64())
		}
	}
	return w
}

// trueSeconds is how long a task really runs on a host that has nothing else to do.
func trueSeconds(w *world, d *flow.DAG, g *flowsim.Grid, task, host int) float64 {
	return d.Tasks[task].Work / g.Hosts[host].Speed * w.truth[task]
}

// modelFactor is how many times the work over the speed the model says that a kind of tasks
// takes on a class of hosts.
func (c *Case) modelFactor(kind, class int) float64 {
	if c.Wrong && kind == sweep && class == 0 {
		return tooFast
	}
	return 1
}
