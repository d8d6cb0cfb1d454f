package nodesel

import "math"

// radixSorted is a list of positive numbers in ascending order. There are half a
// million of them on a thousand hosts, where comparing them takes most of the
// time that an early answer has; the bits of positive floats sort like whole
// numbers, digit by digit.
func radixSorted(list []float64) []float64 {
	const bits = 11
	to := make([]float64, len(list))
	for shift := 0; shift < 64; shift += bits {
		var start [1<<bits + 1]int
		digit := func(x float64) int { return int(math.Float64bits(x) >> shift & (1<<bits - 1)) }
		for _, x := range list {
			start[digit(x)+1]++
		}
		if len(list) > 0 && start[digit(list[0])+1] == len(list) {
			continue // all alike
		}
		for d := range 1 << bits {
			start[d+1] += start[d]
		}
		for _, x := range list {
			d := digit(x)
			to[start[d]] = x
			start[d]++
		}
		list, to = to, list
	}
	return list
}
