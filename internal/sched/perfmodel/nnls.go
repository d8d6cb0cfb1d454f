package perfmodel

import "math"

// nonNegative finds x ≥ 0 that makes the squared length of a·x − b least, by the
// active-set method of Lawson and Hanson: columns enter one at a time, the most
// promising first, and leave when their factor would become negative. So the
// answer has as few positive factors as the data asks for. a is given by columns.
//
// The cost is about k·(c·r + k³) for r rows, c columns and k positive factors.
func nonNegative(a [][]float64, b []float64) []float64 {
	x := make([]float64, len(a))
	var in []int // columns whose factor may be positive
	held := make([]bool, len(a))
	tried := make([]bool, len(a)) // and found useless beside those that are in
	rest := append([]float64(nil), b...)
	scale := vectorNorm(b)
	for range 3*len(a) + 10 {
		best, j := 1e-8*scale, -1
		for c := range a {
			if !held[c] && !tried[c] {
				if l := vectorNorm(a[c]); l > 0 {
					if g := dotProduct(a[c], rest) / l; g > best {
						best, j = g, c
					}
				}
			}
		}
		if j < 0 {
			break
		}
		in, held[j] = append(in, j), true
		for {
			s, ok := leastSquares(a, in, b)
			if !ok { // as good as a sum of others: of no use
				in = dropColumns(in, held, func(c int) bool { return c == j })
				break
			}
			if stepTowards(x, in, s, held) {
				break
			}
			in = dropColumns(in, held, func(c int) bool { return !held[c] })
		}
		if !held[j] {
			tried[j] = true
			continue
		}
		clear(tried)
		copy(rest, b)
		for _, c := range in {
			for r, v := range a[c] {
				rest[r] -= v * x[c]
			}
		}
	}
	return x
}

// stepTowards moves x towards the solution s on the columns in, as far as nothing
// becomes negative; what reached zero is let go. It says whether s was reached.
func stepTowards(x []float64, in []int, s []float64, held []bool) bool {
	far := 1.0
	for i, c := range in {
		if s[i] <= 0 {
			far = math.Min(far, x[c]/(x[c]-s[i]))
		}
	}
	reached := true
	for i, c := range in {
		was := x[c]
		x[c] += far * (s[i] - was)
		if s[i] <= 0 && x[c] <= 1e-12*was {
			x[c], held[c], reached = 0, false, false
		}
	}
	return reached
}

func dropColumns(in []int, held []bool, out func(int) bool) []int {
	kept := in[:0]
	for _, c := range in {
		if out(c) {
			held[c] = false
		} else {
			kept = append(kept, c)
		}
	}
	return kept
}

// leastSquares solves for the columns in, by orthogonalising them one after the
// other (twice, against rounding). It fails if they depend on each other.
func leastSquares(a [][]float64, in []int, b []float64) ([]float64, bool) {
	k := len(in)
	if k > len(b) {
		return nil, false
	}
	q, r := make([][]float64, k), make([][]float64, k)
	for i, c := range in {
		v, was := append([]float64(nil), a[c]...), vectorNorm(a[c])
		r[i] = make([]float64, k)
		for range 2 {
			for j := range i {
				d := dotProduct(q[j], v)
				r[j][i] += d
				for t := range v {
					v[t] -= d * q[j][t]
				}
			}
		}
		l := vectorNorm(v)
		if l <= 1e-10*was {
			return nil, false
		}
		r[i][i] = l
		for t := range v {
			v[t] /= l
		}
		q[i] = v
	}
	x := make([]float64, k)
	for i := k - 1; i >= 0; i-- {
		x[i] = dotProduct(q[i], b)
		for j := i + 1; j < k; j++ {
			x[i] -= r[i][j] * x[j]
		}
		x[i] /= r[i][i]
	}
	return x, true
}

func dotProduct(a, b []float64) float64 {
	s := 0.0
	for i, v := range a {
		s += v * b[i]
	}
	return s
}

func vectorNorm(a []float64) float64 { return math.Sqrt(dotProduct(a, a)) }
