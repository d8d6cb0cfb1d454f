package plot

import "math"

// durations are the steps that read well on an axis in seconds, up to a day.
var durations = [...]float64{
	1, 2, 5, 10, 15, 30, // seconds
	60, 2 * 60, 5 * 60, 10 * 60, 15 * 60, 30 * 60,
	3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600, day,
}

const day = 86400

// slack is the share by which a value may miss a tick and still lie on it.
const slack = 1e-9

// spans are the ticks of a logarithmic axis in seconds.
var spans = [...]float64{
	1, 10, 60, 600, 3600, 36000, day, 10 * day, 100 * day, 1000 * day, 10000 * day,
}

// tickStep is the distance between ticks that gives about want of them.
func (u Unit) tickStep(span float64, want int) float64 {
	ideal := span / math.Max(1, float64(want))
	if u == Seconds && ideal > 0.5 && ideal < day {
		return nearestStep(ideal, durations[:])
	}
	if u == Seconds && ideal >= day {
		return niceStep(ideal/day) * day
	}
	if u == Count {
		return math.Max(1, niceStep(ideal))
	}
	return niceStep(ideal)
}

// niceStep is the nearest of 1, 2, 5 times a power of ten.
func niceStep(ideal float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(ideal)))
	return nearestStep(ideal/power, []float64{1, 2, 5, 10}) * power
}

// nearestStep is the step whose ratio to v is nearest to one.
func nearestStep(v float64, steps []float64) float64 {
	best := steps[0]
	for _, s := range steps {
		if math.Abs(math.Log(s/v)) < math.Abs(math.Log(best/v)) {
			best = s
		}
	}
	return best
}

// makeTicks are the marks of an axis from lo to hi, about want of them labelled.
func (u Unit) makeTicks(lo, hi float64, log bool, want int) []tick {
	want = max(want, 2)
	if log {
		if list := u.logTicks(lo, hi, want); countLabelled(list) >= 2 {
			return list
		}
	}
	return u.linearTicks(lo, hi, want)
}

func (u Unit) linearTicks(lo, hi float64, want int) []tick {
	step := u.tickStep(hi-lo, want)
	label := u.tickLabeller(step, math.Max(math.Abs(lo), math.Abs(hi)))
	var list []tick
	first := math.Ceil(lo/step - slack)
	for i := range 10 * want { // a bound, should step be lost in rounding
		// Multiplied, not added up: 0.3 must not become 0.30000000000000004.
		v := (first + float64(i)) * step
		if v > hi+slack*step {
			break
		}
		list = append(list, tick{v, label(v)})
	}
	return list
}

// logTicks labels powers of ten, or for seconds the usual spans of time.
func (u Unit) logTicks(lo, hi float64, want int) []tick {
	if u == Seconds {
		return u.spanTicks(lo, hi)
	}
	first, last := int(math.Ceil(math.Log10(lo)-slack)), int(math.Floor(math.Log10(hi)+slack))
	every := max(1, (last-first+want)/want) // decades from label to label
	var list []tick
	for e := first - 1; e <= last; e++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, float64(e))
			if v < lo*(1-slack) || v > hi*(1+slack) {
				continue
			}
			label := ""
			// With fewer than two powers of ten, label between them as well.
			if m == 1 && (e-first)%every == 0 || last <= first && (m == 2 || m == 5) {
				label = u.tickLabeller(v, v)(v)
			}
			if label != "" || every == 1 {
				list = append(list, tick{v, label})
			}
		}
	}
	return list
}

// spanTicks are the usual spans of time, with parts of a second below them.
func (u Unit) spanTicks(lo, hi float64) []tick {
	var list []tick
	add := func(v float64) {
		if v >= lo*(1-slack) && v <= hi*(1+slack) {
			list = append(list, tick{v, u.tickLabeller(v, v)(v)})
		}
	}
	for e := max(-9, int(math.Floor(math.Log10(lo)))); e < 0; e++ {
		add(math.Pow(10, float64(e)))
	}
	for _, v := range spans {
		add(v)
	}
	return list
}

func countLabelled(list []tick) int {
	n := 0
	for _, t := range list {
		if t.label != "" {
			n++
		}
	}
	return n
}
