package predict

import "math"

// shift is a change of the level of a series.
type shift struct {
	from, to float64
	ago      float64 // seconds
}

// testChange looks for the most likely moment of a change, and cuts the series there
// if chance alone would explain it too rarely.
func (s *series) testChange() (shift, bool) {
	n := s.whole.n
	if n < 2*minSide {
		return shift{}, false
	}
	var after block
	best, at := 0.0, 0
	for i := s.used - 1; i > 0; i-- {
		after.joinBlock(s.blocks[i])
		right, left := after.n, n-after.n
		if left < minSide {
			break
		}
		if right < minSide {
			continue
		}
		d := (after.tame - s.whole.tame) * n / left // to the mean of the rest
		within := s.whole.m2 - d*d*left*right/n
		v := max(within/(n-2), s.noise.varianceAt(min(left, right), s.leastVariance()))
		if t2 := d * d / (v * (1/left + 1/right)); t2 > best {
			best, at = t2, i
		}
	}
	if !isAlarm(best, n-2, s.barrier) {
		return shift{}, false
	}
	return s.cutAt(at), true
}

// isAlarm compares the square of a t-statistic with the square of a normal score
// (Wallace's approximation of one by the other).
func isAlarm(t2, freedom, barrier float64) bool {
	if t2 < barrier {
		return false
	}
	k := (8*freedom + 1) / (8*freedom + 3)
	return k*k*freedom*math.Log1p(t2/freedom) >= barrier
}

// cutAt begins a new level at block i.
func (s *series) cutAt(i int) shift {
	var before, after block
	for _, b := range s.blocks[:i] {
		before.joinBlock(b)
	}
	s.used = copy(s.blocks[:], s.blocks[i:s.used])
	for j := range s.blocks[:s.used] {
		// Tamed towards a level that is no more.
		s.blocks[j].tame = s.blocks[j].mean
		after.joinBlock(s.blocks[j])
	}
	s.whole = after
	for s.held > 0 && float64(s.held) > after.n {
		s.settleOldest()
	}
	s.noise.cutAt(before.n)
	s.rememberLevel(level{before.mean, before.dur})
	s.changes++
	s.strays -= float64(s.stray)
	s.stray = 0
	if before.mean > 0 && after.mean > 0 {
		j := math.Log(after.mean / before.mean)
		s.jumps += j * j
	}
	return shift{from: before.mean, to: after.mean, ago: after.dur}
}

// rememberLevel keeps a level that the series has left; when there are too many the
// two nearest to each other become one.
func (s *series) rememberLevel(l level) {
	if s.nPast == maxPast {
		nearest, first, second := math.Inf(1), 0, 1
		for i := range maxPast {
			for j := i + 1; j < maxPast; j++ {
				if d := math.Abs(s.past[i].mean - s.past[j].mean); d < nearest {
					nearest, first, second = d, i, j
				}
			}
		}
		a, b := s.past[first], s.past[second]
		dur := a.dur + b.dur
		s.past[first] = level{(a.mean*a.dur + b.mean*b.dur) / dur, dur}
		s.nPast--
		s.past[second] = s.past[s.nPast]
	}
	s.past[s.nPast] = l
	s.nPast++
}
