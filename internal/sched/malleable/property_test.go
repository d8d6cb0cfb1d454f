package malleable

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

func drawCluster(t *rapid.T) (*world.World, *world.Cluster) {
	var jobs []job
	used := 0
	for range rapid.IntRange(0, 8).Draw(t, "jobs") {
		least := rapid.IntRange(1, 8).Draw(t, "least")
		most := least + rapid.IntRange(0, 20).Draw(t, "more")
		j := job{size: rapid.IntRange(least, most).Draw(t, "size"), least: least, most: most}
		j.refused = rapid.IntRange(0, most-j.size).Draw(t, "refused")
		jobs = append(jobs, j)
		used += j.size
	}
	return cluster(t, used+40, jobs...)
}

// checkOffers verifies what holds for every offer of every policy, and returns
// the sum.
func checkOffers(t *rapid.T, list []Offer) (sum int) {
	var seen []*world.Part
	for _, o := range list {
		if slices.Contains(seen, o.Part) {
			t.Fatalf("job %d is offered twice: %s", o.Part.Job().Spec().ID, offers(list))
		}
		seen = append(seen, o.Part)
		if n := o.Part.Size() + o.N; o.N == 0 || n < o.Part.MinSize() || n > o.Part.MaxSize() {
			t.Fatalf("job %d would have %d, outside [%d, %d]", o.Part.Job().Spec().ID, n, o.Part.MinSize(), o.Part.MaxSize())
		}
		if o.N > 0 && o.N <= o.Part.RefusedOffer() {
			t.Fatalf("job %d is offered %d, it refuses %d", o.Part.Job().Spec().ID, o.N, o.Part.RefusedOffer())
		}
		if o.Why.Code == core.NoReason {
			t.Fatal("an offer has no reason")
		}
		sum += o.N
	}
	return sum
}

func TestNoPolicyOffersMoreThanIsFree(t *testing.T) {
	for _, name := range PolicyNames() {
		rapid.Check(t, func(t *rapid.T) {
			w, c := drawCluster(t)
			free := rapid.IntRange(0, 40).Draw(t, "free")
			list := ByName(name).Grow(w.ViewFor(0, 0), c, free, nil)
			if sum := checkOffers(t, list); sum > free {
				t.Fatalf("%s offers %d of %d: %s", name, sum, free, offers(list))
			}
			for _, o := range list {
				if o.N < 0 {
					t.Fatalf("%s shrinks to grow: %s", name, offers(list))
				}
			}
		})
	}
}

// What somebody would take is offered to somebody, or processors would lie
// idle that a running job wants. Folding leaves what is not enough to double
// anybody, marginal what helps nobody.
func TestWhatSomebodyMayWantIsOffered(t *testing.T) {
	for _, name := range []string{"fpsma", "egs", "equi"} {
		rapid.Check(t, func(t *rapid.T) {
			w, c := drawCluster(t)
			free := rapid.IntRange(0, 40).Draw(t, "free")
			wanted := slices.ContainsFunc(c.GrowableParts(), func(p *world.Part) bool { return usefulOffer(p, free) > 0 })
			if got := len(ByName(name).Grow(w.ViewFor(0, 0), c, free, nil)) > 0; got != wanted {
				t.Fatalf("%s offers something: %v, somebody may want it: %v", name, got, wanted)
			}
		})
	}
}

func TestEveryPolicyReclaimsWhatIsNeededIfItCanBeHad(t *testing.T) {
	for _, name := range PolicyNames() {
		rapid.Check(t, func(t *rapid.T) {
			w, c := drawCluster(t)
			need := rapid.IntRange(0, 60).Draw(t, "need")
			list := ByName(name).Shrink(w.ViewFor(0, 0), c, need, nil)
			sum := -checkOffers(t, list)
			want := min(need, c.ReclaimableProcs())
			if sum < want {
				t.Fatalf("%s reclaims %d, %d are needed and can be had: %s", name, sum, want, offers(list))
			}
			if name != "fold" && name != "marginal" && sum > want { // these have larger steps
				t.Fatalf("%s reclaims %d, only %d are needed: %s", name, sum, want, offers(list))
			}
		})
	}
}

func TestNoPolicyShrinksAJobForItsOwnSake(t *testing.T) {
	for _, name := range PolicyNames() {
		if name == "marginal" {
			continue // the engine passes over such an offer
		}
		rapid.Check(t, func(t *rapid.T) {
			w, c := drawCluster(t)
			id := core.JobID(rapid.IntRange(1, 8).Draw(t, "for"))
			need := rapid.IntRange(1, 60).Draw(t, "need")
			list := ByName(name).Shrink(w.ViewFor(0, id), c, need, nil)
			sum, can := -checkOffers(t, list), 0
			for _, p := range c.ShrinkableParts() {
				if p.Job().Spec().ID != id {
					can += spareCores(p)
				}
			}
			if slices.ContainsFunc(list, func(o Offer) bool { return o.Part.Job().Spec().ID == id }) || sum < min(need, can) {
				t.Fatalf("%s for job %d asks %s, others can spare %d of %d", name, id, offers(list), can, need)
			}
		})
	}
}

func TestRebalancingOnlyTakes(t *testing.T) {
	for _, name := range PolicyNames() {
		r, ok := ByName(name).(Rebalancer)
		if !ok {
			continue
		}
		rapid.Check(t, func(t *rapid.T) {
			w, c := drawCluster(t)
			list := r.Rebalance(w.ViewFor(0, 0), c, rapid.IntRange(0, 40).Draw(t, "free"), nil)
			checkOffers(t, list)
			for _, o := range list {
				if o.N > 0 {
					t.Fatalf("%s grows: %s", name, offers(list))
				}
			}
		})
	}
}

// fillSlowly is fill, one processor at a time to whoever has least, of equals
// to the oldest.
func fillSlowly(parts []*world.Part, pool int, floor, ceiling func(*world.Part) int) []int {
	target := make([]int, len(parts))
	for i, p := range parts {
		target[i] = floor(p)
		pool += p.Size() - target[i]
	}
	for ; pool > 0; pool-- {
		best := -1
		for i, p := range parts {
			if target[i] < ceiling(p) && (best < 0 || target[i] < target[best]) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		target[best]++
	}
	return target
}

func TestFillingIsLikeGivingOneByOneToWhoHasLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, c := drawCluster(t)
		extra := rapid.IntRange(-c.ReclaimableProcs(), 60).Draw(t, "extra")
		floor, ceiling := (*world.Part).MinSize, (*world.Part).MaxSize
		if extra >= 0 && rapid.Bool().Draw(t, "only up") {
			floor = (*world.Part).Size
		} else if extra <= 0 {
			ceiling = (*world.Part).Size
		}
		got, want := waterFill(c.MalleableParts(), extra, floor, ceiling, nil),
			fillSlowly(c.MalleableParts(), extra, floor, ceiling)
		if !slices.Equal(got, want) {
			t.Fatalf("fills %v, one by one %v", got, want)
		}
	})
}
