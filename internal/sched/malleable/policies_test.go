package malleable

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Every case is computed by hand from papers/001, section V-C, and spec 10.

func TestGrow(t *testing.T) {
	three := []job{{size: 2, least: 2, most: 10}, {size: 4, least: 2, most: 10}, {size: 2, least: 2, most: 10}}
	for _, c := range []struct {
		name, policy string
		jobs         []job
		free         int
		want         string
	}{
		// FPSMA: "it starts growing from the earliest started malleable job".
		{"all to the oldest", "fpsma", three, 5, "1+5"},
		{"the rest to the next", "fpsma", three, 11, "1+8 2+3"},
		{"the rest of all to nobody", "fpsma", three, 40, "1+8 2+6 3+8"},
		{"who is known to refuse that much is passed over", "fpsma", []job{{2, 2, 10, 3}, {2, 2, 10, 0}}, 3, "2+3"},
		{"but not if it is more", "fpsma", []job{{2, 2, 10, 3}, {2, 2, 10, 0}}, 4, "1+4"},
		{"nobody can grow", "fpsma", []job{{4, 2, 4, 0}}, 4, ""},

		// EGS: equally; "the remainder is distributed across the least recently
		// started jobs as a bonus".
		{"equal shares", "egs", three, 9, "1+3 2+3 3+3"},
		{"one more to the oldest", "egs", three, 10, "1+4 2+3 3+3"},
		{"one more to the two oldest", "egs", three, 11, "1+4 2+4 3+3"},
		{"fewer than jobs", "egs", three, 2, "1+1 2+1"},
		{"not beyond the maximum", "egs", []job{{9, 2, 10, 0}, {2, 2, 10, 0}}, 8, "1+1 2+4"},
		{"who is full has no share", "egs", []job{{10, 2, 10, 0}, {2, 2, 10, 0}}, 8, "2+8"},
		{"a share too small to be wanted is offered whole", "egs", []job{{2, 2, 10, 2}, {2, 2, 10, 2}}, 4, "1+4"},

		// Equipartition: the smallest first.
		{"the smallest up to the others", "equi", three, 4, "1+2 3+2"},
		{"then all alike", "equi", three, 7, "1+3 2+1 3+3"},
		{"the remainder to the oldest", "equi", three, 5, "1+3 3+2"},
		{"not beyond the maximum", "equi", []job{{2, 2, 3, 0}, {2, 2, 10, 0}}, 5, "1+1 2+4"},

		// Folding: the smallest is doubled first.
		{"double the smallest", "fold", three, 4, "1+2 3+2"},
		{"and the next if there is enough", "fold", three, 8, "1+2 2+4 3+2"},
		{"halves are not offered", "fold", []job{{4, 2, 10, 0}}, 3, ""},
		{"nor what is beyond the maximum", "fold", []job{{6, 2, 10, 0}}, 8, ""},
		{"nor what was refused", "fold", []job{{2, 2, 10, 2}, {4, 2, 10, 0}}, 4, "2+4"},
	} {
		t.Run(c.policy+": "+c.name, func(t *testing.T) {
			w, cl := cluster(t, 60, c.jobs...)
			if got := offers(ByName(c.policy).Grow(w.ViewFor(0, 0), cl, c.free, nil)); got != c.want {
				t.Errorf("offers %q, want %q", got, c.want)
			}
		})
	}
}

func TestShrink(t *testing.T) {
	three := []job{{size: 6, least: 2, most: 10}, {size: 8, least: 2, most: 10}, {size: 4, least: 2, most: 10}}
	for _, c := range []struct {
		name, policy string
		jobs         []job
		need         int
		forJob       core.JobID
		want         string
	}{
		// FPSMA: "starts shrinking from the latest started malleable job".
		{"from the newest", "fpsma", three, 1, 0, "3-1"},
		{"the rest from the next", "fpsma", three, 5, 0, "2-3 3-2"},
		{"all that can be had", "fpsma", three, 99, 0, "1-4 2-6 3-2"},
		{"not from the one it is for", "fpsma", three, 3, 3, "2-3"},

		// EGS: equally; the remainder "reclaimed from the most recently started
		// jobs as a malus".
		{"equal shares", "egs", three, 6, 0, "1-2 2-2 3-2"},
		{"one more from the newest that can", "egs", three, 4, 0, "1-1 2-1 3-2"},
		{"two more from the two newest", "egs", three, 5, 0, "1-1 2-2 3-2"},
		{"what one cannot spare the others give", "egs", three, 8, 0, "1-2 2-4 3-2"},
		{"all that can be had", "egs", three, 99, 0, "1-4 2-6 3-2"},
		{"not from the one it is for", "egs", three, 4, 3, "1-2 2-2"},
		{"all the others can give", "egs", three, 99, 2, "1-4 3-2"},

		// Equipartition: the largest is cut first.
		{"the largest", "equi", three, 2, 0, "2-2"},
		{"down to the others", "equi", three, 4, 0, "1-1 2-3"},
		{"no more than needed", "equi", three, 1, 0, "2-1"},
		{"all that can be had", "equi", three, 99, 0, "1-4 2-6 3-2"},
		{"not from the one it is for", "equi", three, 1, 2, "1-1"},

		// Folding: the largest is halved first.
		{"halve the largest", "fold", three, 1, 0, "2-4"},
		{"and the next", "fold", three, 5, 0, "1-3 2-4"},
		{"and the largest again", "fold", three, 10, 0, "1-3 2-6 3-2"},
		{"not below the minimum", "fold", []job{{10, 8, 10, 0}}, 5, 0, "1-2"},
		{"not from the one it is for", "fold", three, 1, 2, "1-3"},
	} {
		t.Run(c.policy+": "+c.name, func(t *testing.T) {
			w, cl := cluster(t, 60, c.jobs...)
			if got := offers(ByName(c.policy).Shrink(w.ViewFor(0, c.forJob), cl, c.need, nil)); got != c.want {
				t.Errorf("offers %q, want %q", got, c.want)
			}
		})
	}
}

// papers/001, V-C: equipartition "distributes equally the whole set of
// processors among running jobs" and "may mix grow and shrink messages".
func TestEquipartitionTakesFromWhoHasMoreThanItsPart(t *testing.T) {
	for _, c := range []struct {
		name string
		jobs []job
		free int
		want string
	}{
		{"equal already", []job{{5, 2, 9, 0}, {5, 2, 9, 0}}, 0, ""},
		{"a new small job", []job{{9, 2, 10, 0}, {2, 2, 10, 0}}, 1, "1-3"},
		{"the remainder stays with the oldest", []job{{9, 2, 10, 0}, {2, 2, 10, 0}}, 0, "1-3"},
		{"who cannot use its part leaves it to others", []job{{9, 2, 10, 0}, {2, 2, 3, 0}}, 0, "1-1"},
		{"who cannot do with less keeps what it has", []job{{9, 8, 10, 0}, {2, 2, 10, 0}}, 0, "1-1"},
		{"enough for all", []job{{9, 2, 10, 0}, {2, 2, 10, 0}}, 20, ""},
	} {
		w, cl := cluster(t, 60, c.jobs...)
		if got := offers(Equipartition{}.Rebalance(w.ViewFor(0, 0), cl, c.free, nil)); got != c.want {
			t.Errorf("%s: offers %q, want %q", c.name, got, c.want)
		}
	}
}

func TestEveryPolicyIsFoundByItsName(t *testing.T) {
	for _, name := range PolicyNames() {
		if ByName(name) == nil {
			t.Errorf("no policy is called %q", name)
		}
	}
	if ByName("nonsense") != nil {
		t.Error("something is called nonsense")
	}
}
