package broker_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// violation is what an agent tells of a program that is much slower than promised, with so much of its work left.
func violation(a *attempt, work float64) wire.Message {
	v := &wire.Vitals{CPU: 5, Used: 5, Wall: 20, Share: 0.1, Mean: 0.2, Left: left(10 * work), Work: left(work),
		Method: "sandbox", SaveCost: 1, Chance: -1}
	return wire.Message{Kind: wire.Violated, State: v, Contract: &wire.ContractState{Promise: a.Promise, Done: 0.25, Ratio: 10,
		Average: 3, Limit: 2, Left: 10 * work, Bias: 1, Phases: 12, Ratios: [][2]float64{{0.2, 1}, {0.25, 10}}}}
}

func TestAJobThatBreaksItsContractIsMovedWhereItGains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // what is promised is not of this machine
		g := newGrid(t)
		id := g.submit(jobfile.Job{Estimate: 100 * time.Second, Contract: &core.Contract{}})
		a := g.next()
		if !(a.Promise > 10 && a.Promise < 1000) || a.Spec.Contract == nil {
			t.Fatalf("%g s are promised, by contract %+v", a.Promise, a.Spec.Contract)
		}
		a.run()
		g.until(id, core.Running)
		a.say(violation(a, 75))
		a.order(t, wire.Stop)
		a.say(wire.Message{Kind: wire.Left, Saved: &wire.Saved{Method: "sandbox", Work: "w", Image: "i"}})
		b := g.next()
		if b.Cluster == a.Cluster || !(b.Promise > 10) {
			t.Errorf("it is started in %s again, or %g s are promised there", b.Cluster, b.Promise)
		}
		b.run()
		b.end(0)
		g.until(id, core.Done)
		d := g.explained(id, "reschedule")
		if len(d) != 1 || !strings.Contains(d[0].Choice, "move to "+b.Cluster) {
			t.Fatalf("the decision is explained by %+v", d)
		}
		for _, name := range []string{"ret_current_s", "ret_new_s", "cost_s", "write_s", "schedule_s", "start_s", "redistribute_s",
			"gain", "threshold"} {
			if d[0].Inputs[name] == nil {
				t.Errorf("%s is not among %v", name, d[0].Inputs)
			}
		}
		if c := g.explained(id, "contract"); len(c) != 3 || !strings.Contains(c[0].Choice, "accepted") ||
			c[1].Choice != "violated" || !strings.Contains(c[2].Choice, "accepted") {
			t.Errorf("the contract is explained by %+v", c)
		}
	})
}

func TestARefusedViolationRaisesTheLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrid(t)
		id := g.submit(jobfile.Job{Estimate: 100 * time.Second, Contract: &core.Contract{}})
		a := g.next()
		a.run()
		g.until(id, core.Running)
		m := violation(a, 75)
		m.Contract.Left = 60 // it is slower than promised, but not slower than it would be elsewhere
		a.say(m)
		a.order(t, wire.Limits)
		a.end(0)
		g.until(id, core.Done)
		if d := g.explained(id, "reschedule"); len(d) != 1 || !strings.Contains(d[0].Choice, "stay") {
			t.Errorf("the decision is explained by %+v", d)
		}
	})
}

func TestNothingIsPromisedOfAProgramThatNobodyKnows(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{Contract: &core.Contract{}})
	a := g.next()
	if a.Promise != 0 {
		t.Errorf("%g s are promised", a.Promise)
	}
	a.run()
	g.until(id, core.Running)
	a.say(wire.Message{Kind: wire.Violated}) // what no agent of ours says
	a.end(0)
	g.until(id, core.Done)
	if c := g.explained(id, "contract"); len(c) != 1 || !strings.Contains(c[0].Why, "nothing is predicted") {
		t.Errorf("the contract is explained by %v", fmt.Sprint(c))
	}
}
