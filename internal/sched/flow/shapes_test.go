package flow

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// build makes a graph that must be right.
func build(t testing.TB, tasks []Task, edges []Edge) *DAG {
	t.Helper()
	d, err := NewDAG(tasks, edges)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// works is n tasks of random work.
func works(r *rand.Rand, n int) []Task {
	tasks := make([]Task, n)
	for i := range tasks {
		tasks[i] = Task{Name: fmt.Sprintf("t%d", i), Work: 1 + 99*r.Float64()}
	}
	return tasks
}

func chain(t testing.TB, n int) *DAG {
	var edges []Edge
	for i := 1; i < n; i++ {
		edges = append(edges, Edge{i - 1, i, 5e7, 1})
	}
	return build(t, works(rand.New(rand.NewPCG(1, 1)), n), edges)
}

// forkJoin is stages of equal width between single tasks.
func forkJoin(t testing.TB, stages, width int) *DAG {
	tasks := works(rand.New(rand.NewPCG(2, 2)), stages*(width+1)+1)
	var edges []Edge
	for s := range stages {
		join := s * (width + 1)
		for i := 1; i <= width; i++ {
			edges = append(edges, Edge{join, join + i, 1e6, 1}, Edge{join + i, join + width + 1, 2e6, 1})
		}
	}
	return build(t, tasks, edges)
}

// montage has the shape of the image mosaics: projections, differences of
// neighbours, a fit over all, background corrections, a sum.
func montage(t testing.TB, images int) *DAG {
	r := rand.New(rand.NewPCG(3, 3))
	tasks := works(r, 5*images+3)
	diff, fit, back, add := images, 4*images, 4*images+1, 5*images+1
	var edges []Edge
	for i := range images {
		for k := range 3 {
			other := (i + 1 + k*7) % images
			edges = append(edges, Edge{i, diff + 3*i + k, 4e6, 1}, Edge{diff + 3*i + k, fit, 3e2, 1})
			if other != i {
				edges = append(edges, Edge{other, diff + 3*i + k, 4e6, 1})
			}
		}
		edges = append(edges, Edge{fit, back + i, 1e4, 1}, Edge{i, back + i, 4e6, 1}, Edge{back + i, add, 4e6, 1})
	}
	edges = append(edges, Edge{add, add + 1, 1e8, 1})
	return build(t, tasks, edges)
}

// tangle is a random graph with free tasks, tasks that take no time, edges
// without data and requirements.
func tangle(t testing.TB, seed uint64, n int) *DAG {
	r := rand.New(rand.NewPCG(seed, 4))
	tasks := works(r, n)
	var edges []Edge
	for i := range tasks {
		switch r.IntN(6) {
		case 0:
			tasks[i].Work = 0
		case 1:
			tasks[i].Memory = 6 << 30
		case 2:
			tasks[i].Cores = 2
		}
		for range r.IntN(4) {
			if i > 0 {
				edges = append(edges, Edge{r.IntN(i), i, float64(r.IntN(3)-1) * 1e8 * r.Float64(), 1})
			}
		}
	}
	for i := range edges {
		if edges[i].Bytes < 0 {
			edges[i].Bytes = NoData
		}
	}
	return build(t, tasks, edges)
}

// grid is clusters of hosts in a star; the middle is slow.
func grid(clusters, each int) *Grid {
	var hosts []Host
	for c := range clusters {
		for h := range each {
			hosts = append(hosts, Host{
				Name: fmt.Sprintf("c%dh%d", c, h), Site: c, Cores: 1 + c%3,
				Speed: 0.5 + 0.4*float64((c*7)%5), Memory: int64(4+4*(c%3)) << 30,
			})
		}
	}
	return NewGrid(hosts, clusters, func(a, b int) Route {
		if a == b {
			return Route{2e-4, 8e-9}
		}
		return Route{0.01 + 0.001*float64(a+2*b), 8.0 / (45e6 * float64(1+a%3))}
	})
}

func shapes(t testing.TB) map[string]*DAG {
	all := map[string]*DAG{
		"one task": build(t, []Task{{Name: "a", Work: 3}}, nil), "no time": build(t, make([]Task, 5), []Edge{{0, 1, 0, 1}}),
		"free tasks": build(t, works(rand.New(rand.NewPCG(9, 9)), 70), nil),
		"chain":      chain(t, 30), "fork-join": forkJoin(t, 4, 20), "montage": montage(t, 12),
	}
	for seed := range uint64(12) {
		all[fmt.Sprintf("tangle %d", seed)] = tangle(t, seed, 10+int(seed)*9)
	}
	return all
}

func grids() map[string]*Grid {
	one := NewGrid([]Host{{Name: "h", Cores: 2, Speed: 2, Memory: 8 << 30}}, 1, func(int, int) Route { return Route{} })
	return map[string]*Grid{"one host": one, "two clusters": grid(2, 3), "many": grid(7, 5)}
}
