package flow

import (
	"fmt"
	"math"
)

// NoData, as the bytes of an edge, says that a child waits for its parent but
// for none of its files.
const NoData = -1

// A Task is one component of a workflow.
type Task struct {
	Name   string
	Work   float64 // seconds on a host of speed 1
	Memory int64   // bytes that the host must have; 0: any
	Cores  int     // that the host must have
	Wide   int     // cores that it occupies, all at one site; 0 and 1: one
	Kind   int     // tasks of one kind are run alike: see Grid.CorrectSpeeds
	Only   []bool  // classes of hosts that may run it; nil: all
}

// coreCount is how many cores the task occupies.
func (t *Task) coreCount() int { return max(1, t.Wide) }

// An Edge makes To wait for From and for its files. Between two tasks files
// travel one after another, so what counts is how many bytes they have together
// and how many they are.
type Edge struct {
	From, To int
	Bytes    float64 // of all files together, or NoData
	Files    int     // how many; 0 with Bytes: one
}

// A DAG is the graph of a workflow. It does not change.
type DAG struct {
	Tasks []Task
	topo  []int32 // parents before children, otherwise in the order of the tasks
	pred  adjacency
	succ  adjacency
	wide  bool // some tasks occupy several cores
}

// adjacency lists the neighbours of every task, all in one array.
type adjacency struct {
	first []int32 // of task t: links[first[t]:first[t+1]]
	links []link
}

type link struct {
	task  int32
	files int32 // at least one, unless bytes is NoData
	bytes float64
}

func newLink(task int, e Edge) link {
	if e.Bytes < 0 {
		return link{int32(task), 0, NoData}
	}
	return link{int32(task), int32(max(1, e.Files)), e.Bytes}
}

func (a *adjacency) linksOf(t int32) []link { return a.links[a.first[t]:a.first[t+1]] }

// A CycleError names the tasks that wait for each other.
type CycleError struct{ Tasks []int }

func (e *CycleError) Error() string {
	return fmt.Sprintf("%d tasks wait for each other", len(e.Tasks))
}

// NewDAG builds the graph. It fails with a *CycleError if there is no order in
// which the tasks could run. Several edges between the same two tasks count as
// one with the files of all.
func NewDAG(tasks []Task, edges []Edge) (*DAG, error) {
	d := &DAG{Tasks: tasks}
	for _, t := range tasks {
		if !(t.Work >= 0) || math.IsInf(t.Work, 1) {
			return nil, fmt.Errorf("task %s: work of %v seconds", t.Name, t.Work)
		}
		d.wide = d.wide || t.coreCount() > 1
	}
	for _, e := range edges {
		if e.From < 0 || e.To < 0 || e.From >= len(tasks) || e.To >= len(tasks) {
			return nil, fmt.Errorf("edge from task %d to %d of %d tasks", e.From, e.To, len(tasks))
		}
	}
	edges = mergeParallelEdges(len(tasks), edges)
	d.succ = gatherEdges(len(tasks), edges, func(e Edge) (int, int) { return e.From, e.To })
	d.pred = gatherEdges(len(tasks), edges, func(e Edge) (int, int) { return e.To, e.From })
	if d.sortTopologically(); len(d.topo) < len(tasks) {
		return nil, &CycleError{d.findCycle()}
	}
	return d, nil
}

// EdgeCount is the number of edges.
func (d *DAG) EdgeCount() int { return len(d.succ.links) }

// EachParent calls see with the edge from every parent of a task.
func (d *DAG) EachParent(task int, see func(Edge)) {
	for _, l := range d.pred.linksOf(int32(task)) {
		see(Edge{int(l.task), task, l.bytes, int(l.files)})
	}
}

// EachChild calls see with every task that waits for this one.
func (d *DAG) EachChild(task int, see func(child int)) {
	for _, l := range d.succ.linksOf(int32(task)) {
		see(int(l.task))
	}
}

// mergeParallelEdges puts the edges between the same two tasks together.
func mergeParallelEdges(tasks int, edges []Edge) []Edge {
	byParent := gatherEdges(tasks, edges, func(e Edge) (int, int) { return e.From, e.To })
	last := make([]int32, tasks) // the last parent, counted from 1, that has this child
	twice := false
	for p := range tasks {
		for _, l := range byParent.linksOf(int32(p)) {
			twice = twice || last[l.task] == int32(p+1)
			last[l.task] = int32(p + 1)
		}
	}
	if !twice {
		return edges
	}
	clear(last)
	at := make([]int, tasks) // where the edge from that parent is
	var sum []Edge
	for p := range tasks {
		for _, l := range byParent.linksOf(int32(p)) {
			if last[l.task] != int32(p+1) {
				last[l.task], at[l.task] = int32(p+1), len(sum)
				sum = append(sum, Edge{p, int(l.task), l.bytes, int(l.files)})
				continue
			}
			if e := &sum[at[l.task]]; l.bytes >= 0 {
				e.Bytes, e.Files = max(0, e.Bytes)+l.bytes, e.Files+int(l.files)
			}
		}
	}
	return sum
}

// gatherEdges sorts the edges by one of their ends.
func gatherEdges(n int, edges []Edge, ends func(Edge) (at, other int)) adjacency {
	a := adjacency{make([]int32, n+1), make([]link, len(edges))}
	for _, e := range edges {
		at, _ := ends(e)
		a.first[at+1]++
	}
	for i := range n {
		a.first[i+1] += a.first[i]
	}
	next := append([]int32(nil), a.first...)
	for _, e := range edges {
		at, other := ends(e)
		a.links[next[at]] = newLink(other, e)
		next[at]++
	}
	return a
}

// sortTopologically is Kahn's algorithm; tasks on a cycle, and those behind one, are left
// out.
func (d *DAG) sortTopologically() {
	waits := d.parentCounts()
	d.topo = make([]int32, 0, len(d.Tasks))
	for t := range d.Tasks {
		if waits[t] == 0 {
			d.topo = append(d.topo, int32(t))
		}
	}
	for i := 0; i < len(d.topo); i++ {
		for _, c := range d.succ.linksOf(d.topo[i]) {
			if waits[c.task]--; waits[c.task] == 0 {
				d.topo = append(d.topo, c.task)
			}
		}
	}
}

func (d *DAG) parentCounts() []int32 {
	waits := make([]int32, len(d.Tasks))
	for t := range waits {
		waits[t] = d.pred.first[t+1] - d.pred.first[t]
	}
	return waits
}

// findCycle walks from a task that was not sorted to a parent that was not, until
// it meets itself.
func (d *DAG) findCycle() []int {
	sorted := make([]bool, len(d.Tasks))
	for _, t := range d.topo {
		sorted[t] = true
	}
	at := int32(0)
	for sorted[at] {
		at++
	}
	seen := make([]int, len(d.Tasks)) // position on the walk, from 1
	var walk []int
	for seen[at] == 0 {
		walk = append(walk, int(at))
		seen[at] = len(walk)
		for _, p := range d.pred.linksOf(at) {
			if !sorted[p.task] {
				at = p.task
				break
			}
		}
	}
	return walk[seen[at]-1:]
}

// reversedEdges is the graph with every edge turned round.
func (d *DAG) reversedEdges() *DAG {
	r := &DAG{Tasks: d.Tasks, pred: d.succ, succ: d.pred, topo: make([]int32, len(d.topo)), wide: d.wide}
	for i, t := range d.topo {
		r.topo[len(r.topo)-1-i] = t
	}
	return r
}
