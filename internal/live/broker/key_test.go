package broker_test

import (
	"slices"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

// Whoever does not know whether a submission arrived makes it again, also after the
// broker was restarted in between.
func TestAnArraySubmittedAgainWithItsKeyIsTheSameArray(t *testing.T) {
	for name, again := range map[string]func(*grid){"at once": func(*grid) {}, "after a restart": (*grid).restart} {
		t.Run(name, func(t *testing.T) {
			g := newGrid(t)
			spec := func(key string) *jobfile.Job {
				return complete(jobfile.Job{Key: key, Array: jobfile.ArrayRange{First: 1, Last: 3, Step: 1}})
			}
			first, err := g.broker().SubmitJob(t.Context(), spec("one"), "")
			if err != nil || len(first) != 3 {
				t.Fatalf("submitted %v, %v", first, err)
			}
			again(g)
			same, err := g.broker().SubmitJob(t.Context(), spec("one"), "")
			if err != nil || !slices.Equal(same, first) {
				t.Errorf("submitted again: %v, %v, want %v", same, err, first)
			}
			other, err := g.broker().SubmitJob(t.Context(), spec("two"), "")
			if err != nil || len(other) != 3 || slices.Contains(first, other[0]) {
				t.Errorf("with another key: %v, %v", other, err)
			}
		})
	}
}
