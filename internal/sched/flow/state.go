package flow

// A State is how far a workflow has got. A plan from there on leaves what has
// begun where it is.
type State struct {
	Fixed []bool // tasks that have begun or ended, or never will run
	// Slots are those of fixed tasks. One that has ended is given as ending now: its
	// files can travel from now on.
	Slots []Slot
	Free  []float64 // when each core, counted over all hosts, is free: now or later
}

// nobodyFor is the first task that still has to be planned and that no host can
// run, or -1.
func (g *Grid) nobodyFor(d *DAG, from *State) int {
	for t := range d.Tasks {
		if (from == nil || !from.Fixed[t]) && !g.canRun(&d.Tasks[t]) {
			return t
		}
	}
	return -1
}

// canRun tells whether a site has enough cores of hosts that meet what the task
// requires.
func (g *Grid) canRun(t *Task) bool {
	var room []int
	for i := range g.groups {
		k := &g.groups[i].kind
		switch {
		case !k.meetsRequirements(t):
			continue
		case k.cores >= t.coreCount():
			return true
		case room == nil:
			room = make([]int, g.sites)
		}
		if room[k.site] += k.cores * len(g.groups[i].hosts); room[k.site] >= t.coreCount() {
			return true
		}
	}
	return false
}

// UnrunnableTask is the first task that no host can run, or -1.
func (g *Grid) UnrunnableTask(d *DAG) int { return g.nobodyFor(d, nil) }
