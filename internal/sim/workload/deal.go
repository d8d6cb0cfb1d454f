package workload

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// dealChoices gives each of n jobs one of the choices, so that every choice gets its
// exact share of the jobs, in random order: of 300 jobs drawn evenly between
// two programs, 150 run each.
func dealChoices(weights []float64, n int, random *rand.Rand) []uint16 {
	hands := make([]uint16, 0, n)
	for choice, count := range apportionShares(weights, n) {
		for range count {
			hands = append(hands, uint16(choice))
		}
	}
	random.Shuffle(n, func(i, j int) { hands[i], hands[j] = hands[j], hands[i] })
	return hands
}

// apportionShares divides n by weight into whole numbers, by largest remainders.
func apportionShares(weights []float64, n int) []int {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	counts := make([]int, len(weights))
	rest := make([]float64, len(weights))
	order := make([]int, len(weights))
	left := n
	for i, w := range weights {
		exact := w / sum * float64(n)
		counts[i] = int(math.Floor(exact))
		rest[i] = exact - math.Floor(exact)
		order[i] = i
		left -= counts[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest[b], rest[a]) })
	for i := 0; left > 0; i++ {
		counts[order[i%len(order)]]++
		left--
	}
	return counts
}
