package capture

import (
	"cmp"
	"slices"
)

// LinkedLoops is loops of several ranks that are gone round together: what some send in
// Step rounds of theirs is what the others receive in Step rounds of theirs. So as
// many steps can be left out on all of them and every message still finds its
// receiver.
type LinkedLoops struct {
	Loops []*Node // by rank; nil: the rank takes no part
	Step  []int64 // rounds, by rank
}

// StepCount is how often all of them can make a step.
func (t *LinkedLoops) StepCount() int64 {
	n := int64(-1)
	for r, loop := range t.Loops {
		if loop != nil && (n < 0 || loop.Rounds/t.Step[r] < n) {
			n = loop.Rounds / t.Step[r]
		}
	}
	return n
}

// CapturedTime is the clock's time of nodes, as it was when they were captured.
func CapturedTime(nodes []Node) float64 {
	sum := 0.0
	for i := range nodes {
		n := &nodes[i]
		if n.IsLoop() {
			sum += float64(n.Rounds) * CapturedTime(n.Body)
		} else {
			sum += n.Gap + n.Inside
		}
	}
	return sum
}

// talk is how many messages go where in nodes.
type talk struct {
	sends, recvs map[int]int64 // by peer
	anybody      int64         // received
	joint        map[int]int64 // collective operations, by group
}

func talkOf(nodes []Node) *talk {
	t := &talk{map[int]int64{}, map[int]int64{}, 0, map[int]int64{}}
	t.addNodes(nodes, 1)
	return t
}

func (t *talk) addNodes(nodes []Node, times int64) {
	for i := range nodes {
		n := &nodes[i]
		switch {
		case n.IsLoop():
			t.addNodes(n.Body, times*n.Rounds)
		case IsCollective(n.Call):
			t.joint[n.Group] += times
		case SendsMessage(n.Call):
			if n.Peer >= 0 {
				t.sends[n.Peer] += times
			}
			if n.Call == "sendrecv" {
				t.addReceive(n.From, times)
			}
		case n.Call == "recv" || n.Call == "irecv":
			t.addReceive(n.Peer, times)
		}
	}
}

func (t *talk) addReceive(from int, times int64) {
	switch {
	case from == Anybody:
		t.anybody += times
	case from >= 0:
		t.recvs[from] += times
	}
}

// loop is a loop of a rank that is not in a Together yet.
type loop struct {
	rank int
	node *Node
	talk *talk
	time float64
	used bool
}

// FindTogether finds loops among the nodes of all ranks, one sequence for each, that
// are gone round together, those that take longest first. Loops of which it is not
// certain are left out.
func FindTogether(groups [][]int, sequences [][]Node) []LinkedLoops {
	var loops []*loop
	for r, nodes := range sequences {
		for i := range nodes {
			if n := &nodes[i]; n.IsLoop() {
				loops = append(loops, &loop{rank: r, node: n, talk: talkOf(n.Body), time: float64(n.Rounds) * CapturedTime(n.Body)})
			}
		}
	}
	byRank := make([][]*loop, len(sequences))
	for _, l := range loops {
		byRank[l.rank] = append(byRank[l.rank], l)
	}
	slices.SortStableFunc(loops, func(a, b *loop) int { return cmp.Compare(b.time, a.time) })
	var found []LinkedLoops
	for _, l := range loops {
		if l.used {
			continue
		}
		l.used = true
		if t, ok := joinLoops(l, groups, byRank); ok {
			found = append(found, t)
		}
	}
	return found
}

// ratio is a positive fraction.
type ratio struct{ over, under int64 }

func (a ratio) multiplyBy(over, under int64) ratio {
	over, under = a.over*over, a.under*under
	g := greatestDivisor(over, under)
	return ratio{over / g, under / g}
}

func greatestDivisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// joined is a set of loops while it grows.
type joined struct {
	groups [][]int
	loops  []*loop // by rank
	steps  []ratio
}

// mostSteps bounds the numbers: rounds of different ranks that belong together are
// seldom more than a few.
const mostSteps = 1 << 16

// joinLoops finds the loops of other ranks that belong to one.
func joinLoops(first *loop, groups [][]int, byRank [][]*loop) (LinkedLoops, bool) {
	j := &joined{groups, make([]*loop, len(byRank)), make([]ratio, len(byRank))}
	j.loops[first.rank], j.steps[first.rank] = first, ratio{1, 1}
	for queue := []*loop{first}; len(queue) > 0; queue = queue[1:] {
		for _, peer := range j.peerRanks(queue[0]) {
			if j.loops[peer] != nil {
				continue
			}
			at := slices.IndexFunc(byRank[peer], func(l *loop) bool { return !l.used && j.fitsLoop(queue[0], l) })
			if at < 0 {
				return LinkedLoops{}, false
			}
			l := byRank[peer][at]
			j.loops[peer] = l
			queue = append(queue, l)
		}
	}
	if !j.isBalanced() {
		return LinkedLoops{}, false
	}
	return j.toTogether()
}

// peerRanks are all ranks that a loop talks with.
func (j *joined) peerRanks(l *loop) []int {
	var list []int
	for peer := range l.talk.sends { // order-free: sorted below
		list = append(list, peer)
	}
	for peer := range l.talk.recvs { // order-free: sorted below
		list = append(list, peer)
	}
	for g := range l.talk.joint { // order-free: sorted below
		list = append(list, j.groups[g]...)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return slices.DeleteFunc(list, func(r int) bool { return r == l.rank })
}

// fitsLoop reports whether a loop of another rank may belong to one that is in, and notes
// how many rounds of it a step is.
func (j *joined) fitsLoop(in, l *loop) bool {
	a, b := perRound(in, l)
	if a == 0 || a > mostSteps || b > mostSteps {
		return false
	}
	step := j.steps[in.rank].multiplyBy(a, b)
	if step.over > mostSteps || step.under > mostSteps {
		return false
	}
	// A loop may begin or end a little earlier on one rank than on another.
	want := float64(in.node.Rounds) * float64(a) / float64(b)
	if got := float64(l.node.Rounds); got < 0.75*want-2 || got > want/0.75+2 {
		return false
	}
	j.steps[l.rank] = step
	return true
}

// perRound is how many of a kind of call there are in a round of one loop, and how many
// of their counterparts in a round of another; 0 if they have nothing in common.
// Receives from anybody may be of either.
func perRound(in, l *loop) (a, b int64) {
	for g, n := range in.talk.joint { // order-free: that all agree is checked later
		if m := l.talk.joint[g]; m > 0 {
			a, b = n, m
		}
	}
	toL, toIn := in.talk.sends[l.rank], l.talk.sends[in.rank]
	switch fromIn, fromL := l.talk.recvs[in.rank], in.talk.recvs[l.rank]; {
	case a > 0:
		return a, b
	case toL > 0 && fromIn > 0 && l.talk.anybody == 0:
		return toL, fromIn
	case toIn > 0 && fromL > 0 && in.talk.anybody == 0:
		return fromL, toIn
	case toL > 0 && l.talk.anybody+fromIn > 0, toIn > 0 && in.talk.anybody+fromL > 0:
		return 1, 1
	}
	return 0, 0
}

// isBalanced reports whether what is sent in a step is what is received in it, and all
// members of a group make its collective operations.
func (j *joined) isBalanced() bool {
	scaled := func(r int, n int64) float64 { return float64(n) * float64(j.steps[r].over) / float64(j.steps[r].under) }
	for r, l := range j.loops {
		if l == nil {
			continue
		}
		came := 0.0
		for from, other := range j.loops {
			if other == nil {
				continue
			}
			sent, named := scaled(from, other.talk.sends[r]), scaled(r, l.talk.recvs[from])
			if sent < named || sent > named && l.talk.anybody == 0 {
				return false
			}
			came += sent - named
		}
		if came != scaled(r, l.talk.anybody) {
			return false
		}
		for g, n := range l.talk.joint { // order-free: all must hold
			for _, member := range j.groups[g] {
				if other := j.loops[member]; other == nil || scaled(member, other.talk.joint[g]) != scaled(r, n) {
					return false
				}
			}
		}
	}
	return true
}

// toTogether makes whole numbers of the steps.
func (j *joined) toTogether() (LinkedLoops, bool) {
	t := LinkedLoops{make([]*Node, len(j.loops)), make([]int64, len(j.loops))}
	under := int64(1)
	for r, l := range j.loops {
		if l != nil {
			under = under / greatestDivisor(under, j.steps[r].under) * j.steps[r].under
		}
		if under > mostSteps {
			return LinkedLoops{}, false
		}
	}
	common := int64(0)
	for r, l := range j.loops {
		if l != nil {
			t.Loops[r] = l.node
			t.Step[r] = under / j.steps[r].under * j.steps[r].over
			common = greatestDivisor(t.Step[r], common)
			l.used = true
		}
	}
	for r := range t.Step {
		t.Step[r] /= common
	}
	return t, t.StepCount() >= 1
}
