package broker_test

import (
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// oneProgram is a job of two parts, each as large as a cluster, that are one MPI program.
func oneProgram() jobfile.Job {
	return jobfile.Job{Min: 4, Max: 4, Retries: 3, Checkpoint: jobfile.Checkpoint{Method: "auto"}, MPI: true,
		Components: []jobfile.Component{{Procs: 2}, {Procs: 2}}}
}

func TestTheAgentsOfOneProgramAreToldWhereTheOthersAreReached(t *testing.T) {
	g := newGrid(t)
	g.submit(oneProgram())
	p := g.nextParts()
	where := &rendezvous.Rendezvous{Addresses: []string{"192.0.2.1:4711"}, Certificate: strings.Repeat("ab", 32),
		Token: strings.Repeat("cd", 32)}
	for _, a := range p {
		if !a.Spec.MPI {
			t.Errorf("part %d is not told that it is one of one program", a.Part)
		}
		a.beConnected()
		a.say(wire.Message{Kind: wire.Ready, Hosts: []string{"host-of-" + a.Cluster}, Slots: []int{2}, Meet: where})
	}
	for part, a := range p {
		for _, c := range a.order(t, wire.Begin).Contacts {
			if c.Meet == nil || c.Meet.Certificate != where.Certificate || len(c.Slots) != 1 || c.Slots[0] != 2 {
				t.Errorf("part %d is told of %+v", part, c)
			}
			// Only part 0 may have something run in another.
			if got := c.Meet.Token == where.Token; got != (part == 0 || c.Part == part) {
				t.Errorf("part %d has the token of part %d: %v", part, c.Part, got)
			}
		}
	}
}

// Nobody knew that the clusters do not reach each other; the agents find out, and next time it is known.
func TestAProgramWhosePartsDoNotReachEachOtherIsRefusedAndNothingIsHeld(t *testing.T) {
	g := newGrid(t)
	id := g.submit(oneProgram())
	p := g.nextParts()
	for _, a := range p {
		a.ready()
	}
	for _, a := range p {
		a.order(t, wire.Begin)
	}
	p[0].begin() // it reaches the other, but not the other way round
	p[1].say(wire.Message{Kind: wire.Lost, Cause: wire.Unreachable, Peer: 0, Why: "no route to host"})
	v := g.until(id, core.Failed)
	const want = "it is one MPI program (mpi: true), and hosts of b and a cannot reach each other, or by the " +
		"settings are not to: place its parts on clusters whose hosts do, or all of it on one cluster"
	if v.Reason != want {
		t.Errorf("it failed: %s", v.Reason)
	}
	if list := g.explained(id, "lost"); len(list) != 1 || !strings.Contains(list[0].Why, "no route to host") {
		t.Errorf("explained as %+v", list)
	}
	g.freed()
	spec := oneProgram()
	spec.Argv = []string{"prog"}
	if _, err := g.broker().SubmitJob(t.Context(), &spec, ""); !badinput.Is(err) ||
		!strings.Contains(err.Error(), "hosts of a and b cannot reach each other") {
		t.Errorf("the next is told %v", err)
	}
	other := twoParts() // several programs need not reach each other
	g.submit(other)
	g.nextParts()
}

func TestAProgramForAClusterThatIsNotToMeetOthersIsRefused(t *testing.T) {
	for _, set := range []func(g *grid){func(g *grid) { g.indirect = true }, func(g *grid) { g.untrusted = true }} {
		g := newGrid(t)
		g.kill()
		set(g)
		g.up()
		refusesProgram(t, g)
		g.freed()
	}
}

func refusesProgram(t *testing.T, g *grid) {
	t.Helper()
	spec := oneProgram()
	spec.Argv = []string{"prog"}
	_, err := g.broker().SubmitJob(t.Context(), &spec, "")
	if !badinput.Is(err) || !strings.Contains(err.Error(),
		"mpi: it is one MPI program (mpi: true), and hosts of a and b cannot reach each other") {
		t.Errorf("it is told %v", err)
	}
}
