package flow

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// fromScratch works out the times of an order and its hosts, all of them.
func fromScratch(m *mapping) ([]Slot, []float64) {
	x := *m
	x.slots, x.ready, x.free = make([]Slot, len(m.slots)), make([]float64, len(m.ready)), make([]float64, len(m.free))
	for _, t := range x.order {
		x.ready[t] = x.dataArrival(t)
		x.slots[t] = x.slotOf(t)
		x.free[x.coreOf(t)] = x.slots[t].End
	}
	return x.slots, x.ready
}

func TestTimesThatAStepReachesAreThoseOfWorkingThemAllOut(t *testing.T) {
	for gridName, g := range grids() {
		for name, d := range shapes(t) {
			f := &search{rng: rand.New(rand.NewPCG(5, 5)), best: planHEFT(d, g, nil)}
			f.restartFromBest(d, g)
			for i := range 400 {
				f.advanceStep(f.best.Makespan * []float64{0.1, 0.01, 0}[i%3])
				slots, ready := fromScratch(f.mapping)
				if !slices.Equal(f.slots, slots) || !slices.Equal(f.ready, ready) || !slices.Equal(f.slots, f.was) {
					t.Fatalf("%s on %s: other times after step %d", name, gridName, i)
				}
			}
		}
	}
}
