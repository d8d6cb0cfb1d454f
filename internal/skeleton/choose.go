package skeleton

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Trial is how the skeleton ran on a group of hosts.
type Trial struct {
	Hosts     []string `json:"hosts"`
	Seconds   float64  `json:"seconds"`   // 0: it did not run
	Predicted float64  `json:"predicted"` // seconds of the program
	Error     string   `json:"error,omitempty"`
}

// Choice is the best of several groups of hosts, and why.
type Choice struct {
	Best   int // in Trials; -1: it ran on none
	Trials []Trial
	Why    string
}

// Choose runs the skeleton on one group of hosts after the other, never on two at
// once: groups may share hosts, or links that nobody knows of. tell is called before
// each.
func (s *Skeleton) Choose(ctx context.Context, at Place, groups [][]string, tell func(int)) (*Choice, error) {
	c := &Choice{Best: -1}
	for i, hosts := range groups {
		tell(i)
		at.Hosts = hosts
		t := Trial{Hosts: hosts}
		o, err := s.Run(ctx, at)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			t.Error = err.Error()
		default:
			t.Seconds, t.Predicted = o.Seconds, s.Predict(o.Seconds)
			if c.Best < 0 || t.Seconds < c.Trials[c.Best].Seconds {
				c.Best = i
			}
		}
		c.Trials = append(c.Trials, t)
	}
	c.explain()
	return c, nil
}

func (c *Choice) explain() {
	if c.Best < 0 {
		c.Why = "the skeleton ran on none of the groups"
		return
	}
	best := c.Trials[c.Best]
	var others []float64
	for i, t := range c.Trials {
		if i != c.Best && t.Seconds > 0 {
			others = append(others, t.Seconds)
		}
	}
	c.Why = fmt.Sprintf("the skeleton took %.2f s on %s", best.Seconds, strings.Join(best.Hosts, " "))
	if len(others) > 0 {
		slices.Sort(others)
		c.Why += fmt.Sprintf(", %.2f s on the next best group (%.0f %% more)", others[0], 100*(others[0]/best.Seconds-1))
	}
}
