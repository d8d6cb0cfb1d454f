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
