package predict

import "math"

// Band is how much the two sides of a predicted distribution are stretched, because the
// 90 % bands of earlier predictions held less or more often than 90 %: each quantile's
// distance from the median, as a logarithm, times this factor. 0: 1.
type Band struct{ Low, High float64 }

// stretchSides stretches the distribution around its median.
func (d Dist) stretchSides(b Band) Dist {
	median := d.Median()
	if !d.known || !(median > 0) {
		return d
	}
	for i, q := range d.q {
		factor := b.High
		if i < middle {
			factor = b.Low
		}
		if factor > 0 && factor != 1 && i != middle {
			d.q[i] = clampPositive(median * math.Pow(q/median, factor))
		}
	}
	return d.repairOrder()
}

// forecast is a prediction of the seconds left, made so many seconds after the attempt
// began: the median and the 90 % band, not stretched.
type forecast struct{ at, low, median, high float64 }

// forecasts keeps some of the predictions of an attempt, evenly spread over its time, so
// that they can be judged when it has ended.
type forecasts struct {
	list  []forecast
	every float64 // seconds at least between two that are kept
}

const maxForecasts = 64

// The levels of the 90 % band.
const (
	lowLevel  = 1
	highLevel = NLevels - 2
)

// keepForecast takes the prediction made so many seconds after the attempt began.
func (p *forecasts) keepForecast(at float64, d Dist) {
	if n := len(p.list); n > 0 && at <= p.list[n-1].at+p.every {
		return
	}
	if len(p.list) == maxForecasts {
		p.every = (p.list[maxForecasts-1].at - p.list[0].at) / (maxForecasts / 2)
		for i := range maxForecasts / 2 {
			p.list[i] = p.list[2*i]
		}
		p.list = p.list[:maxForecasts/2]
	}
	p.list = append(p.list, forecast{at, d.q[lowLevel], d.Median(), d.q[highLevel]})
}

// judgedParts are the parts of an attempt after which its predictions are judged.
var judgedParts = [...]float64{1. / 3, 1. / 2, 2. / 3, 5. / 6}

// BandDeviations judges predictions of an attempt that has ended with the last sample:
// the first after 1/3, 1/2, 2/3 and 5/6 of its time. Each is told by where in the
// unstretched 90 % band the end was: 0 at the median, −1 and 1 at its ends, linear in the
// logarithm of the time left.
func (w *Watch) BandDeviations() []float64 {
	end := w.now.At.Seconds()
	var list []float64
	next := 0
	for _, f := range w.forecasts.list {
		if next == len(judgedParts) || f.at >= end {
			break
		}
		if f.at < judgedParts[next]*end {
			continue
		}
		list = append(list, f.deviationOf(end-f.at))
		for next < len(judgedParts) && f.at >= judgedParts[next]*end {
			next++
		}
	}
	return list
}

// maxDeviation is what deviations that are larger or infinite count as.
const maxDeviation = 20

// deviationOf is where in the band the seconds that were left are.
func (f *forecast) deviationOf(left float64) float64 {
	side, sign := f.high, 1.0
	if left < f.median {
		side, sign = f.low, -1
	}
	off, width := math.Abs(math.Log(left/f.median)), math.Abs(math.Log(side/f.median))
	switch {
	case off == 0 || math.IsInf(width, 1):
		return 0
	case !(off < maxDeviation*width): // also where the median is 0
		return sign * maxDeviation
	}
	return sign * off / width
}
