package store

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// The record of a job in one cluster is as that of versions that knew no parts; one of several
// parts says where each is, and what its agent has said.
func TestTheRecordSaysWhereEachPartIs(t *testing.T) {
	var j Job
	plan := func(epoch core.Epoch, clusters ...string) {
		for part, name := range clusters {
			j.ApplyEvent(&core.Event{Kind: core.PartPlanned, Job: 1, Epoch: epoch, Part: part,
				Procs: core.ProcSet{{Lo: 0, Hi: 2}}}, name)
		}
	}
	plan(1, "a")
	j.SetLastMessage(0, 7)
	if j.PartCount() != 1 || len(j.Parts) != 0 || j.Cluster != "a" || j.Seq != 7 || j.LastMessage(0) != 7 {
		t.Fatalf("one part: %+v", j)
	}
	plan(2, "b", "c", "b")
	seen := j.Parts
	j.SetLastMessage(2, 5)
	if j.PartCount() != 3 || j.Cluster != "b" || j.Parts[0].Cluster != "b" || j.Parts[1].Cluster != "c" ||
		j.LastMessage(2) != 5 || j.LastMessage(0) != 0 {
		t.Fatalf("three parts: %+v", j)
	}
	if seen[2].Seq != 0 {
		t.Error("who looked at the parts before sees them change")
	}
	j.ApplyEvent(&core.Event{Kind: core.PartHeld, Job: 1, Epoch: 2, Part: 1, Procs: core.ProcSet{{Lo: 4, Hi: 5}}}, "c")
	if j.Parts[1].Procs != "4" || j.Procs != "0-1" {
		t.Errorf("part 1 holds %q, part 0 %q", j.Parts[1].Procs, j.Procs)
	}
	plan(3, "c")
	if j.PartCount() != 1 || j.Cluster != "c" || j.Epoch != 3 {
		t.Errorf("in one cluster again: %+v", j)
	}
}

// What a part holds follows from what it was offered and what it took or gave back.
func TestTheRecordSaysWhatAPartHoldsNow(t *testing.T) {
	for _, parts := range []int{1, 2} {
		var j Job
		set := func(lo, hi int32) core.ProcSet { return core.ProcSet{{Lo: lo, Hi: hi}} }
		last := parts - 1
		for part := range parts {
			j.ApplyEvent(&core.Event{Kind: core.PartPlanned, Epoch: 1, Part: part, N: 2, Procs: set(0, 2)}, "a")
		}
		holds := func(what, want, offered string) {
			t.Helper()
			procs, offer := j.Procs, j.Offered
			if parts > 1 {
				procs, offer = j.Parts[last].Procs, j.Parts[last].Offered
			}
			if procs != want || offer != offered {
				t.Errorf("%d parts, %s: it holds %q, is offered %q; want %q, %q", parts, what, procs, offer, want, offered)
			}
			if held, _ := core.ParseProcSet(want); j.Size != held.CountProcs()+2*last {
				t.Errorf("%d parts, %s: it has %d processors", parts, what, j.Size)
			}
		}
		j.ApplyEvent(&core.Event{Kind: core.PartOffered, Part: last, N: 4, Procs: set(4, 8), Serial: 1}, "a")
		holds("offered", "0-1", "4-7")
		j.ApplyEvent(&core.Event{Kind: core.PartAnswered, Part: last, N: 3, Grow: true, Serial: 1}, "a")
		holds("grown", "0-1,4-6", "")
		j.ApplyEvent(&core.Event{Kind: core.PartOffered, Part: last, N: -2, Procs: set(5, 7), Serial: 2}, "a")
		holds("asked", "0-1,4-6", "")
		j.ApplyEvent(&core.Event{Kind: core.PartAnswered, Part: last, N: 2, Serial: 2}, "a")
		holds("shrunk", "0-1,4", "")
		j.ApplyEvent(&core.Event{Kind: core.PartGaveBack, Part: last, N: 1, Procs: set(4, 5)}, "a")
		holds("given back", "0-1", "")
		if parts > 1 && j.Procs != "0-1" {
			t.Errorf("the other part holds %q", j.Procs)
		}
	}
}
