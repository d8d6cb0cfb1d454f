package load

import (
	"math"
	"slices"
)

// How the kernel divides a CPU: whoever can run belongs to groups within groups
// (cgroups, sessions), each with a weight. On every level a CPU's time is
// divided among those that want it by their weights; what somebody does not want
// goes to the others. The weight that a group has on one CPU is its weight
// times the part of its load that is there.

// task is a thread that wants CPU time.
type task struct {
	path   []node  // the groups it is in, outermost first
	weight float64 // its own within the innermost; nice 0 is 1
	want   float64 // of one CPU; 1: all it can get
	used   float64 // of one CPU, lately
	at     int     // the CPU it is on
	may    cpuset  // CPUs it may use; nil: all
	ours   bool    // takes its place but is not counted as a competitor
}

// node is a group.
type node struct {
	key    string
	weight float64 // 1 is what a group has if nobody sets it
}

type cpuset []int

func (s cpuset) containsCPU(cpu int) bool { return s == nil || slices.Contains(s, cpu) }

// newcomer is a process of ours that would come: its groups, and its weight in
// the innermost.
type newcomer struct {
	path   []node
	weight float64
}

// shareOn is what the newcomer would get of one CPU, if it wants all of it,
// once the kernel has moved away from there who can go elsewhere.
func shareOn(cpu int, n newcomer, tasks []task, cpus []int) float64 {
	tasks = balanceTasks(cpu, tasks, cpus)
	competitors := make([]task, 0, len(tasks))
	for i := range tasks {
		if !tasks[i].ours {
			competitors = append(competitors, tasks[i])
		}
	}
	return divideCapacity(1, cpu, n, competitors, 0)
}

// balanceTasks moves tasks that may run elsewhere to CPUs where less is wanted, as
// the kernel would when a newcomer that wants a whole CPU arrived on one.
func balanceTasks(cpu int, tasks []task, cpus []int) []task {
	tasks = slices.Clone(tasks)
	wanted := map[int]float64{cpu: 1}
	for i := range tasks {
		wanted[tasks[i].at] += tasks[i].want
	}
	for range 4 * len(tasks) {
		best, to, gain := -1, -1, 0.25 // the kernel does not move for less
		for i := range tasks {
			t := &tasks[i]
			if t.ours {
				continue
			}
			for _, c := range cpus {
				if c == t.at || !t.may.containsCPU(c) {
					continue
				}
				if g := wanted[t.at] - wanted[c] - t.want; g >= gain {
					best, to, gain = i, c, g+1e-9
				}
			}
		}
		if best < 0 {
			break
		}
		t := &tasks[best]
		wanted[t.at] -= t.want
		wanted[to] += t.want
		t.at = to
	}
	return tasks
}

// divideCapacity gives the newcomer's part of capacity, which is what the group at this
// level has of the CPU. tasks are those of this group, wherever they run.
func divideCapacity(capacity float64, cpu int, n newcomer, tasks []task, level int) float64 {
	type rival struct {
		weight, want float64 // here
		all          float64 // wanted on all CPUs together
		members      []task
	}
	groups := map[string]*rival{}
	var rivals []*rival
	for _, t := range tasks {
		if level >= len(t.path) { // runs directly in this group
			if t.at == cpu {
				rivals = append(rivals, &rival{weight: t.weight, want: t.want})
			}
			continue
		}
		g := t.path[level]
		r := groups[g.key]
		if r == nil {
			r = &rival{weight: g.weight}
			groups[g.key] = r
			rivals = append(rivals, r)
		}
		r.members = append(r.members, t)
		r.all += t.want
		if t.at == cpu {
			r.want += t.want
		}
	}
	var ours *rival
	weight := n.weight
	if level < len(n.path) {
		weight = n.path[level].weight
		if ours = groups[n.path[level].key]; ours != nil {
			ours.want, ours.all = ours.want+1, ours.all+1
			weight *= ours.want / ours.all
		}
	}
	var others []demand
	for _, r := range rivals {
		if r == ours || r.want <= 0 {
			continue
		}
		if r.all > 0 {
			r.weight *= r.want / r.all
		}
		others = append(others, demand{r.weight, r.want})
	}
	mine := fillDemands(capacity, weight, others)
	if level >= len(n.path) {
		return mine
	}
	var inside []task
	if ours != nil {
		inside = ours.members
	}
	return divideCapacity(mine, cpu, n, inside, level+1)
}

// demand is somebody who wants a part of a CPU.
type demand struct{ weight, want float64 }

// fillDemands divides capacity by weights among one who takes all he can get and
// others who want no more than they say, and returns what the one gets.
func fillDemands(capacity, weight float64, others []demand) float64 {
	slices.SortFunc(others, func(a, b demand) int {
		switch x, y := a.want*b.weight, b.want*a.weight; { // want per weight
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	sum := weight
	for _, o := range others {
		sum += o.weight
	}
	left := capacity
	for _, o := range others {
		if fair := left * o.weight / sum; o.want < fair {
			left -= o.want
			sum -= o.weight
			continue
		}
		break // he and all after him want more than is fair
	}
	return left * weight / sum
}

// niceWeight is the weight of a task: each step of niceness is worth a quarter.
func niceWeight(nice int) float64 { return math.Pow(1.25, -float64(nice)) }
