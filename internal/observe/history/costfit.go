package history

import "math"

// costSample is one transfer as the fit of its cost sees it.
type costSample struct {
	bytes, seconds float64
	weight         float64 // of 1: how much it is like the one asked about
}

// costFit is what is believed of seconds = fixed + each · bytes: the logarithms of
// both parts and their covariance.
type costFit struct {
	fixed, each float64
	covariance  [2][2]float64
	spread      spread // of the logarithm of single transfers around it
}

// Prior of a cost, as standard deviations of the logarithm: by how much the parts
// differ from what is usual, how much of the difference of one transfer is chance,
// and what is believed of the spread before it was seen.
const (
	costPartSd  = 0.7
	costNoiseSd = 0.1
	// costTail deviations from the fit a transfer begins to count less: it waited for
	// something that has nothing to do with its size.
	costTail = 3
)

var costSpread = spread{df: 6, sd: 0.35}

// usualCost is what is believed of a kind of transfer before one was seen. A
// checkpoint is compressed and written at 200 MB/s; files come over a network, of
// which 10 MB/s are expected.
func usualCost(what string) costFit {
	f := costFit{fixed: math.Log(0.2), each: math.Log(1e-7)}
	if what == Save || what == Restore {
		f = costFit{fixed: math.Log(0.7), each: math.Log(5e-9)}
	}
	f.covariance = [2][2]float64{{costPartSd * costPartSd, 0}, {0, costPartSd * costPartSd}}
	f.spread = costSpread
	return f
}

// logSecondsAt is the logarithm of the seconds that so many bytes take, and its variance.
func (f *costFit) logSecondsAt(bytes float64) (mean, variance float64) {
	value, part := f.logSeconds(bytes)
	c := &f.covariance
	a, b := 1-part, part
	return value, a*a*c[0][0] + 2*a*b*c[0][1] + b*b*c[1][1]
}

// logSeconds is the logarithm of the seconds, and which part of them the bytes take: by as
// much it moves with the logarithm of each, by the rest with that of fixed.
func (f *costFit) logSeconds(bytes float64) (value, part float64) {
	fixed, moved := math.Exp(f.fixed), math.Exp(f.each)*bytes
	return math.Log(fixed + moved), moved / (fixed + moved)
}

// fitCost is the most likely cost after these transfers: Gauss and Newton's method on
// the logarithms, in which both parts stay positive and a transfer of a second
// matters as much as one of an hour.
func fitCost(before costFit, seen []costSample) costFit {
	const (
		rounds  = 50
		noise   = 1 / (costNoiseSd * costNoiseSd)
		largest = 1.0 // step of a logarithm: farther away the curve is another
	)
	f := before
	for range rounds {
		precision := [2][2]float64{{1 / before.covariance[0][0], 0}, {0, 1 / before.covariance[1][1]}}
		pull := [2]float64{(before.fixed - f.fixed) * precision[0][0], (before.each - f.each) * precision[1][1]}
		for _, s := range seen {
			value, part := f.logSeconds(s.bytes)
			off := math.Log(s.seconds) - value
			far := off / (costTail * costSpread.sd)
			w := s.weight * noise / (1 + far*far)
			slope := [2]float64{1 - part, part}
			for a := range 2 {
				pull[a] += w * off * slope[a]
				for b := range 2 {
					precision[a][b] += w * slope[a] * slope[b]
				}
			}
		}
		f.covariance = invertMatrix2(precision)
		c := &f.covariance
		stepFixed, stepEach := c[0][0]*pull[0]+c[0][1]*pull[1], c[1][0]*pull[0]+c[1][1]*pull[1]
		f.fixed += min(max(stepFixed, -largest), largest)
		f.each += min(max(stepEach, -largest), largest)
		if math.Abs(stepFixed)+math.Abs(stepEach) < 1e-9 {
			break
		}
	}
	squares, free := 0.0, -2.0
	for _, s := range seen {
		value, _ := f.logSeconds(s.bytes)
		off := math.Log(s.seconds) - value
		squares += s.weight * off * off
		free += s.weight
	}
	f.spread = costSpread.withObservations(squares, max(0, free))
	return f
}

func invertMatrix2(m [2][2]float64) [2][2]float64 {
	det := m[0][0]*m[1][1] - m[0][1]*m[1][0]
	return [2][2]float64{{m[1][1] / det, -m[0][1] / det}, {-m[1][0] / det, m[0][0] / det}}
}
