package skeleton

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/netgraph"
)

// Trial is how the skeleton ran on a group of hosts.
type Trial struct {
	netgraph.Trial         // Seconds is the mean of its runs; 0: it did not run
	Runs           int     `json:"runs"`
	Predicted      float64 `json:"predicted"` // seconds of the program
	Error          string  `json:"error,omitempty"`
}

// Choice is the best of several groups of hosts, and why.
type Choice struct {
	Best   int // in Trials; -1: it ran on none
	Trials []Trial
	Why    string
}

// A group that is to take the first one's place has to be faster by clearly, in
// proportion, in a run-off of so many runs on both, and each of its runs faster than
// any on the first: of groups that are alike one of twenty does that by chance.
const (
	clearly = 0.03
	runOffs = 3
)

// ChooseGroup runs the skeleton on one group of hosts after the other, never on two at
// once: groups may share hosts, or links that nobody knows of. tell is called before
// each run.
//
// The fastest of several runs is partly the luckiest. So if the first group, from
// which the most is expected, is not the fastest, there is a run-off between them, in
// which the runs before do not count.
func (s *Skeleton) ChooseGroup(ctx context.Context, at RunPlace, groups [][]string, tell func(int)) (*Choice, error) {
	return chooseGroup(groups, func(i int) (float64, error) {
		tell(i)
		at.Hosts = groups[i]
		o, err := s.Run(ctx, at)
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case err != nil:
			return 0, &failedError{err}
		}
		return o.Seconds, nil
	}, s.PredictProgram)
}

// failedError is that of a group: others may do better.
type failedError struct{ error }

func chooseGroup(groups [][]string, run func(int) (float64, error), predict func(float64) float64) (*Choice, error) {
	c := &Choice{Trials: make([]Trial, len(groups))}
	for i, hosts := range groups {
		c.Trials[i].Hosts = hosts
		if _, err := c.tryGroup(i, run); err != nil {
			return nil, err
		}
	}
	c.Best = c.fastestGroup()
	for decided := false; !decided && c.Best > 0 && c.Trials[0].Error == ""; {
		var err error
		if decided, err = c.runOff(run); err != nil {
			return nil, err
		}
	}
	for i := range c.Trials {
		c.Trials[i].Predicted = predict(c.Trials[i].Seconds)
	}
	c.explainChoice()
	return c, nil
}

// runOff decides between the first group and the one that was fastest, unless it fails
// on one of them. It ends as soon as the first has to stay.
func (c *Choice) runOff(run func(int) (float64, error)) (decided bool, err error) {
	var first, other []float64
	for len(other) < runOffs {
		for _, r := range []struct {
			group int
			times *[]float64
		}{{0, &first}, {c.Best, &other}} {
			took, err := c.tryGroup(r.group, run)
			if err != nil {
				return false, err
			}
			*r.times = append(*r.times, took)
		}
		switch {
		case c.Trials[0].Error != "" || c.Trials[c.Best].Error != "":
			c.Best = c.fastestGroup()
			return false, nil
		case slices.Max(other) >= slices.Min(first):
			c.Best = 0
			return true, nil
		}
	}
	if sumOf(other) > (1-clearly)*sumOf(first) {
		c.Best = 0
	}
	return true, nil
}

func sumOf(list []float64) (total float64) {
	for _, v := range list {
		total += v
	}
	return total
}

// tryGroup runs it on a group once more and returns the seconds it took, 0 if it failed.
func (c *Choice) tryGroup(i int, run func(int) (float64, error)) (took float64, err error) {
	t := &c.Trials[i]
	took, err = run(i)
	var failed *failedError
	switch {
	case errors.As(err, &failed):
		t.Error = failed.Error()
	case err != nil:
		return 0, err
	default:
		t.Seconds = (t.Seconds*float64(t.Runs) + took) / float64(t.Runs+1)
		t.Runs++
	}
	return took, nil
}

// fastestGroup is -1 if it runs on none.
func (c *Choice) fastestGroup() int {
	best := -1
	for i, t := range c.Trials {
		if t.Error == "" && (best < 0 || t.Seconds < c.Trials[best].Seconds) {
			best = i
		}
	}
	return best
}

// RankedTrials are the groups on which it ran, the chosen one first and the others by
// their times.
func (c *Choice) RankedTrials() []Trial {
	var list []Trial
	for i, t := range c.Trials {
		if i != c.Best && t.Error == "" {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b Trial) int { return cmp.Compare(a.Seconds, b.Seconds) })
	if c.Best >= 0 {
		list = slices.Insert(list, 0, c.Trials[c.Best])
	}
	return list
}

// CombinedFailure is why the skeleton ran on none of the groups: what went wrong on each of
// them. One may be told of a host that cannot be reached, another of a lack of memory.
func (c *Choice) CombinedFailure() error {
	if len(c.Trials) == 1 {
		return errors.New(c.Trials[0].Error)
	}
	reasons := make([]string, len(c.Trials))
	for i, t := range c.Trials {
		reasons[i] = fmt.Sprintf("group %d: %s", i+1, t.Error)
	}
	return fmt.Errorf("%s: %s", c.Why, strings.Join(reasons, "; "))
}

func (c *Choice) explainChoice() {
	if c.Best < 0 {
		c.Why = "the skeleton ran on none of the groups"
		return
	}
	best := c.Trials[c.Best]
	c.Why = fmt.Sprintf("the skeleton took %.2f s on %s", best.Seconds, strings.Join(best.Hosts, " "))
	ranked := c.RankedTrials()
	if len(ranked) < 2 {
		return
	}
	next := ranked[1]
	switch more := next.Seconds/best.Seconds - 1; {
	case more >= 0:
		c.Why += fmt.Sprintf(", %.2f s on the next best group (%.0f %% more)", next.Seconds, 100*more)
	case c.Best == 0:
		c.Why += fmt.Sprintf(", from which the most was expected; %s was not clearly faster: %.2f s",
			strings.Join(next.Hosts, " "), next.Seconds)
	default:
		c.Why += fmt.Sprintf(", the mean of %d runs; on %s %.2f s in one", best.Runs, strings.Join(next.Hosts, " "),
			next.Seconds)
	}
}
