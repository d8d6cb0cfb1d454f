package skeleton

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/mpi/capture"
)

// Skeleton is a short program that does what a captured one does, less often.
type Skeleton struct {
	Pattern  *capture.Pattern
	Programs [][]capture.Node // by rank
	// Scale is the part of the program's time that its skeleton takes, if nothing else
	// changed since it was captured.
	Scale float64
	Why   string // it takes longer than was wanted; empty: it does not
}

// New makes a skeleton that would take so many seconds where the program was
// captured. Rounds of the outermost loops are left out first, then those of loops in
// them; if that is not enough, computing becomes shorter. Messages keep their lengths.
func New(p *capture.Pattern, seconds float64) (*Skeleton, error) {
	if p.Source == capture.OfSockets {
		return nil, errors.New("it was captured by its sockets, which tell how much was said to whom but not when: there " +
			"is no skeleton of it")
	}
	whole := make([][]capture.Node, p.Nodes)
	for r := range whole {
		whole[r] = cloneNodes(p.Ranks[r].Calls)
	}
	for _, nodes := range whole {
		if n := tooLong(nodes); n != nil {
			return nil, fmt.Errorf("a %s of %d bytes: a skeleton makes none above %d", n.Call, n.Bytes, int64(longestSum))
		}
	}
	dropTags(p, whole)
	if err := simulatePrograms(p.Groups, whole); err != nil {
		return nil, fmt.Errorf("the program cannot be done again as it was captured: %w", err)
	}
	total := timeOf(whole)
	s := &Skeleton{Pattern: p, Programs: whole, Scale: 1}
	if total == 0 {
		return nil, errors.New("the program made no calls that a skeleton could make")
	}
	want := seconds / p.Seconds
	if p.Seconds == 0 || want >= 1 {
		return s, nil
	}
	s.Programs = make([][]capture.Node, p.Nodes)
	for r := range whole {
		s.Programs[r] = cloneNodes(whole[r])
	}
	shortenLoops(p.Groups, s.Programs, want)
	// What was left out belongs together by how it was chosen; it costs little to be
	// certain.
	if err := simulatePrograms(p.Groups, s.Programs); err != nil {
		s.Programs, s.Why = whole, "its loops cannot be told apart: "+err.Error()
	}
	s.Scale = timeOf(s.Programs) / total
	if s.Scale > 2*want && s.Why == "" {
		s.Why = fmt.Sprintf("one round of each loop, and what is in none, are %.0f %% of its time", 100*s.Scale)
	}
	return s, nil
}

// longestSum is how long operations can be that compute: the runner makes them with
// numbers of eight bytes, of which MPI takes so many.
const longestSum = 8 * (math.MaxInt32 - 1)

// tooLong finds an operation that is longer.
func tooLong(nodes []capture.Node) *capture.Node {
	for i := range nodes {
		n := &nodes[i]
		if slices.Contains([]string{"reduce", "allreduce", "scan", "exscan", "reduce_scatter", "reduce_scatter_block"},
			n.Call) && n.Bytes > longestSum {
			return n
		}
		if inside := tooLong(n.Body); inside != nil {
			return inside
		}
	}
	return nil
}

// PredictProgram is how long the program would take where its skeleton took so long.
func (s *Skeleton) PredictProgram(seconds float64) float64 { return seconds / s.Scale }

// CallCount is how many calls all ranks make.
func (s *Skeleton) CallCount() int64 {
	n := int64(0)
	for _, nodes := range s.Programs {
		n += countCalls(nodes)
	}
	return n
}

func countCalls(nodes []capture.Node) int64 {
	n := int64(0)
	for i := range nodes {
		if nodes[i].IsLoop() {
			n += nodes[i].Rounds * countCalls(nodes[i].Body)
		} else {
			n++
		}
	}
	return n
}

func cloneNodes(nodes []capture.Node) []capture.Node {
	list := slices.Clone(nodes)
	for i := range list {
		list[i].Body = cloneNodes(list[i].Body)
	}
	return list
}

// timeOf is the mean time of the ranks.
func timeOf(programs [][]capture.Node) float64 {
	sum := 0.0
	for _, nodes := range programs {
		sum += capture.CapturedTime(nodes)
	}
	return sum / float64(len(programs))
}

// dropTags takes the tags from all ranks if some ranks did not tell them apart:
// messages of a rank come in the order in which they were sent.
func dropTags(p *capture.Pattern, programs [][]capture.Node) {
	if !slices.ContainsFunc(p.Ranks, func(r capture.Rank) bool { return r.Coarse > 0 }) {
		return
	}
	for _, nodes := range programs {
		removeTags(nodes)
	}
}

func removeTags(nodes []capture.Node) {
	for i := range nodes {
		n := &nodes[i]
		removeTags(n.Body)
		n.Tag, n.FromTag = min(n.Tag, 0), min(n.FromTag, 0)
	}
}

// shortenLoops leaves out rounds until a part of the time is left. sequences are changed
// where they are.
func shortenLoops(groups [][]int, sequences [][]capture.Node, part float64) {
	if part >= 1 {
		return
	}
	inLoops := map[*capture.Node]bool{}
	for _, t := range capture.FindTogether(groups, sequences) {
		steps := t.StepCount()
		keep := max(int64(math.Round(float64(steps)*part)), 1)
		alike := true // a round of one is a round of all
		bodies := make([][]capture.Node, len(sequences))
		for r, loop := range t.Loops {
			if loop == nil {
				continue
			}
			inLoops[loop] = true
			loop.Rounds -= (steps - keep) * t.Step[r]
			bodies[r] = loop.Body
			alike = alike && t.Step[r] == 1
		}
		if left := part * float64(steps) / float64(keep); left < 0.7 && alike {
			shortenLoops(groups, bodies, left)
		} else if left < 0.7 {
			for _, nodes := range bodies {
				relaxComputing(nodes, left)
			}
		}
	}
	for _, nodes := range sequences {
		for i := range nodes {
			if !inLoops[&nodes[i]] {
				relaxComputing(nodes[i:i+1], part)
			}
		}
	}
}

// relaxComputing makes computing shorter. The time of the calls stays: so much is still said.
func relaxComputing(nodes []capture.Node, part float64) {
	for i := range nodes {
		n := &nodes[i]
		relaxComputing(n.Body, part)
		n.Compute *= part
		n.Gap *= part
	}
}
