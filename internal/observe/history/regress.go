package history

import "math"

// line is a linear model fitted to few points: y = mean + slope · (x − center).
type line struct {
	center  []float64
	mean    float64
	slope   []float64
	inverse [][]float64 // of the slopes' precision, in units of the variance
	n       float64
	spread  spread
}

// slopeDoubt is the precision, in observations, with which slopes are held to be
// zero at first. It is next to nothing, and keeps numbers that move together
// from being played off against each other.
const slopeDoubt = 1e-3

// fitLine fits by least squares. before is what is believed of the spread.
func fitLine(rows [][]float64, y []float64, before spread) line {
	n, k := len(rows), len(rows[0])
	l := line{center: make([]float64, k), n: float64(n)}
	for i := range rows {
		l.mean += y[i] / l.n
		for a := range k {
			l.center[a] += rows[i][a] / l.n
		}
	}
	gram := make([][]float64, k)
	moment := make([]float64, k)
	for a := range k {
		gram[a] = make([]float64, k)
		gram[a][a] = slopeDoubt
		for i := range rows {
			da := rows[i][a] - l.center[a]
			moment[a] += da * (y[i] - l.mean)
			for b := range k {
				gram[a][b] += da * (rows[i][b] - l.center[b])
			}
		}
	}
	l.inverse = invertMatrix(gram)
	l.slope = make([]float64, k)
	for a := range k {
		for b := range k {
			l.slope[a] += l.inverse[a][b] * moment[b]
		}
	}
	squares := 0.0
	for i := range rows {
		e := y[i] - l.valueAt(rows[i])
		squares += e * e
	}
	l.spread = before.withObservations(squares, float64(max(0, n-1-k)))
	return l
}

func (l *line) valueAt(x []float64) float64 {
	y := l.mean
	for a := range x {
		y += l.slope[a] * (x[a] - l.center[a])
	}
	return y
}

// expectedAt is the expected value at x, and by how much the variance of a new
// observation there exceeds that around the true line.
func (l *line) expectedAt(x []float64) (mean, widen float64) {
	widen = 1 + 1/l.n
	for a := range x {
		for b := range x {
			widen += (x[a] - l.center[a]) * l.inverse[a][b] * (x[b] - l.center[b])
		}
	}
	return l.valueAt(x), widen
}

// invertMatrix is the inverse of a small positive definite matrix, by Gauss and
// Jordan.
func invertMatrix(m [][]float64) [][]float64 {
	k := len(m)
	left, right := make([][]float64, k), make([][]float64, k)
	for i := range k {
		left[i] = append([]float64(nil), m[i]...)
		right[i] = make([]float64, k)
		right[i][i] = 1
	}
	for col := range k {
		pivot := left[col][col]
		if math.Abs(pivot) < 1e-12 {
			pivot = 1e-12
		}
		for j := range k {
			left[col][j] /= pivot
			right[col][j] /= pivot
		}
		for i := range k {
			if f := left[i][col]; i != col && f != 0 {
				for j := range k {
					left[i][j] -= f * left[col][j]
					right[i][j] -= f * right[col][j]
				}
			}
		}
	}
	return right
}
