package server

import "slices"

// quantileOf is a quantile of what was seen; nil if nothing was.
func quantileOf(x []float64, p float64) *float64 {
	if len(x) == 0 {
		return nil
	}
	x = slices.Clone(x)
	slices.Sort(x)
	at := p * float64(len(x)-1)
	i := int(at)
	v := x[i]
	if i+1 < len(x) {
		v += (at - float64(i)) * (x[i+1] - x[i])
	}
	return &v
}

func meanOf(x []float64) *float64 {
	if len(x) == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	sum /= float64(len(x))
	return &sum
}
