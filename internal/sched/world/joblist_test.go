package world

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestAListOfJobsIsASetInTheOrderOfNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list jobList
		want := map[core.JobID]bool{}
		for range rapid.IntRange(1, 200).Draw(t, "changes") {
			id := core.JobID(rapid.IntRange(1, 40).Draw(t, "job"))
			if rapid.Bool().Draw(t, "leaves") {
				list.removeJob(id)
				delete(want, id)
			} else {
				list.addJob(id)
				want[id] = true
			}
			if list.hasJob(id) != want[id] || list.countJobs() != len(want) {
				t.Fatalf("job %d is in: %v, want %v; %d jobs, want %d", id, list.hasJob(id), want[id], list.countJobs(),
					len(want))
			}
		}
		var got []core.JobID
		for id := list.nextAfter(0); id != 0; id = list.nextAfter(id) {
			got = append(got, id)
		}
		if sorted := slices.Sorted(maps.Keys(want)); !slices.Equal(got, sorted) {
			t.Fatalf("the list has %v, want %v", got, sorted)
		}
	})
}
