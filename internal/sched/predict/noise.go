package predict

import "math/bits"

// noise is how much a series varies around its level, at time scales of 1, 2,
// 4 … samples: at each, half the mean square difference of neighbouring means
// (the Allan variance), times the number of samples in a mean. For independent
// samples that is their variance at every scale. For samples that depend on
// their neighbours it grows with the scale, up to the variance that counts for
// means over a long time. Differences do not see the level itself.
type noise struct {
	scale [noiseScales]scaleNoise
	// v is what is believed of each scale: one that has been seen a few times
	// only is believed as far as the one below it agrees.
	v [noiseScales]float64
}

type scaleNoise struct {
	mean float64 // of what was seen
	n    float64 // how often
	last float64 // mean before, if hasLast
	half float64 // first half of the next scale's mean, if hasHalf

	hasLast, hasHalf bool
}

const (
	noiseScales = 14
	// noiseMemory: older differences count less from then on.
	noiseMemory = 200
	// noiseClip times the variance is the most that one difference counts: a
	// change of the level is no noise.
	noiseClip = 8
	// noisePrior is the number of differences that the scale below counts for.
	noisePrior = 4
	// noiseUsual times the least variance is what is expected at first.
	noiseUsual = 9
	// noiseAbove is how many larger scales count for the variance of a mean.
	noiseAbove = 3
)

// addSample takes the next sample; least is the least variance there is.
func (o *noise) addSample(x, least float64) {
	size, below, usual := 1.0, least, noiseUsual*least
	for j := range o.scale {
		s := &o.scale[j]
		if s.hasLast {
			d := x - s.last
			e := min(d*d/2*size, noiseClip*s.believedVariance(usual))
			s.n = min(s.n+1, noiseMemory)
			s.mean += (e - s.mean) / s.n
		}
		s.last, s.hasLast = x, true
		below = s.believedVariance(below)
		o.v[j], usual = below, below
		if !s.hasHalf {
			s.half, s.hasHalf = x, true
			return
		}
		s.hasHalf = false
		x, size = (x+s.half)/2, size*2
	}
}

func (s *scaleNoise) believedVariance(below float64) float64 {
	return (s.mean*s.n + below*noisePrior) / (s.n + noisePrior)
}

// cutAt is told that the level changed after n samples. A difference across the
// change is none of the noise at scales at which the level had been steady.
func (o *noise) cutAt(n float64) {
	size := 2.0
	for j := range o.scale {
		if size > n {
			return
		}
		o.scale[j].hasLast, o.scale[j].hasHalf = false, false
		size *= 2
	}
}

// varianceAt is the variance of the mean of n samples around the level, times n. The
// mean over a stretch differs from the level by half the difference to its
// neighbour, that pair by half of the difference to the next pair, and so on.
func (o *noise) varianceAt(n, least float64) float64 {
	j := min(bits.Len64(uint64(max(n, 1)))-1, noiseScales-1)
	for j > 0 && o.scale[j].n == 0 {
		j--
	}
	sum, weight := 0.0, 0.5
	for i := j; ; i++ {
		if i == noiseScales-1 || o.scale[i+1].n == 0 || i-j == noiseAbove {
			return max(sum+2*weight*o.v[i], least)
		}
		sum += weight * o.v[i]
		weight /= 2
	}
}
