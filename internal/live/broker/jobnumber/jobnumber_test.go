package jobnumber

import (
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestNumbersGoOnWhereAnyStoreMayHaveStopped(t *testing.T) {
	file := filepath.Join(t.TempDir(), "next-job.json")
	open := func(store string, next, logged core.JobID) (*Reserver, core.JobID) {
		t.Helper()
		r, first, err := OpenReserver(file, store, next, logged)
		if err != nil {
			t.Fatal(err)
		}
		return r, first
	}
	r, first := open("a", 0, 0)
	if first != 1 {
		t.Errorf("the first job is %d", first)
	}
	if err := r.ReserveFrom(first, 5); err != nil {
		t.Fatal(err)
	}
	end := first + 5 + numberBlock
	for what, c := range map[string]struct {
		store        string
		next, logged core.JobID
		want         core.JobID
	}{
		"the same store":                {"a", 6, 5, 6},
		"an older copy, by its logs":    {"a", 3, 5, end},
		"another store":                 {"b", 1, 0, end},
		"another with higher numbers":   {"b", end + 7, 0, end + 7},
		"logs that are higher yet":      {"b", 1, end + 20, end + 21},
		"the same, after its own block": {"a", end + 1, 5, end + 1},
	} {
		if _, got := open(c.store, c.next, c.logged); got != c.want {
			t.Errorf("%s goes on with %d, want %d", what, got, c.want)
		}
	}
}
