package predict

import (
	"math"
	"slices"
)

// Constants of the model of what comes. They were chosen on the loads that the
// calibration test names for choosing and are checked on others; none of them
// has to be exact: halving or doubling one moves the part of the 90 % bands
// that hold by one or two points.
const (
	// hazardShape is the prior number of changes: before any was seen, the
	// chance that a stretch as long as the one so far passes without one is
	// 2^−hazardShape, whatever the time scale. As little is expected of a
	// stretch that is longer: a run that has just begun tells nothing of how
	// often loads change.
	hazardShape = 0.35
	// hazardSamples is added to the samples so far: a change in the first of
	// them does not mean that one comes with each.
	hazardSamples = 10
	// backPrior: after k changes, k/(k+backPrior) is the chance that the next
	// goes back to a level seen before.
	backPrior = 1.5
	// jumpSigma is the deviation of the logarithm of a new level from that of
	// the old one; jumpPrior: after k changes, k/(k+jumpPrior) is the chance
	// that it is as it was so far.
	jumpSigma = 0.8
	jumpPrior = 1
	// nearTop: from here a jump beyond the top goes down; from below it ends
	// at the top, as when the last of the others leaves.
	nearTop = 0.95
	// strayShape and straySamples are the prior of how often a sample is far
	// from the level for once.
	strayShape   = 0.5
	straySamples = 25
	// startVariance counts as one more sample in the variance of a level, in
	// squared parts of the usual level.
	startVariance = 0.01

	maxJumps = 5
)

// Steadiness is how often the share changed in earlier runs on the same processors:
// so many times in so many seconds.
type Steadiness struct{ Changes, Seconds float64 }

// steadyMost times as long as what has been seen and is left, experience of earlier
// runs counts: who computes here today need not be who did yesterday.
const steadyMost = 4

// outlook is what a series says about its own future.
type outlook struct {
	level   float64
	samples float64 // that the level rests on
	within  float64 // variance of a sample around it
	step    float64 // seconds between samples
	mean    float64 // of all so far
	bottom  float64 // rates are not lower,
	top     float64 // and not higher unless this is 0
	noise   *noise
	least   float64 // variance

	doubt      float64 // chance that the level has just changed,
	newLevel   float64 // to this one,
	newSamples float64 // seen so often

	changes float64 // so many
	elapsed float64 // in so many seconds
	steady  Steadiness
	back    float64 // chance that the next leads to one of
	past    []level
	pastDur float64
	seen    float64 // else: chance that it is as large as those seen

	// Exponentials by every fourth stratum, which is as fine as they need be:
	// waits is the time until a change as a part of the time before it, jumps
	// the new level by the old one, for a change like none seen and like those.
	waits [maxJumps][nFutures / coarse]float64
	jumps [2][nFutures / coarse]float64
}

const coarse = 4

// makeOutlook of a series whose samples are about step seconds apart.
func (s *series) makeOutlook(step float64) outlook {
	at := s.whole
	if s.oneSide > 0 && s.run.n >= float64(s.oneSide) {
		at = s.run
	}
	o := outlook{
		level: at.mean, samples: at.n, step: step, mean: s.total.mean, top: s.top,
		within: (at.m2 + startVariance) / max(at.n, 1), noise: &s.noise, least: s.leastVariance(),
	}
	o.bottom = max(o.mean/100, 1e-9) // no program stands still for ever
	if s.barrier == 0 {
		return o
	}
	o.changes = hazardShape + s.changes
	o.elapsed = s.total.dur + hazardSamples*step
	o.steady = s.steady
	o.seen = s.changes / (s.changes + jumpPrior)
	o.past = s.past[:s.nPast]
	for _, l := range o.past {
		o.pastDur += l.dur
	}
	o.back = s.changes / (s.changes + backPrior)
	o.weighSuspects(s)
	o.tabulateJumps(math.Sqrt(s.jumps / max(s.changes, 1)))
	return o
}

// tabulateJumps prepares the exponentials; jump is the deviation of the changes seen.
func (o *outlook) tabulateJumps(jump float64) {
	o.tabulateWaits()
	for i := range nFutures / coarse {
		mid := i*coarse + coarse/2
		o.jumps[0][i] = math.Exp(jumpSigma * stratumScore[mid])
		o.jumps[1][i] = math.Exp(jump * stratumScore[mid])
	}
}

func (o *outlook) tabulateWaits() {
	for i := range nFutures / coarse {
		for j := range maxJumps {
			o.waits[j][i] = math.Exp(stratumWait[i*coarse+coarse/2]/(o.changes+float64(j))) - 1
		}
	}
}

// weighSuspects weighs whether the last samples, far from the level but too few for
// the test, are the beginning of another level or strays as there have been.
func (o *outlook) weighSuspects(s *series) {
	if s.stray == 0 {
		return
	}
	hazard := o.changes / o.elapsed * o.step
	stray := (s.strays - float64(s.stray) + strayShape) / (s.total.n + straySamples)
	o.doubt = hazard / (hazard + math.Pow(stray, float64(s.stray)))
	n := min(s.stray, s.held)
	for _, x := range s.recent[s.held-n : s.held] {
		o.newLevel += x / float64(n)
	}
	o.newSamples = float64(n)
}

// playFutures turns the amounts that are left into the seconds until they are done.
func (o *outlook) playFutures(left *futures) {
	median := left[nFutures/2]
	if len(o.past) == 0 {
		o.elapsed = max(o.elapsed, median/o.clampRate(o.level))
	}
	o.recallSteadiness(median / o.clampRate(o.level))
	doubt := int(o.doubt*nFutures + 0.5)
	sdOld, sdNew := o.rateDeviation(median, o.level, o.samples), 0.0
	if doubt > 0 {
		sdNew = o.rateDeviation(median, o.newLevel, o.newSamples)
	}
	for i := range left {
		level, sd := o.level, sdOld
		if stratumOf(i, dimDoubt) < doubt {
			level, sd = o.newLevel, sdNew
		}
		rate := o.clampRate(max(level+sd*stratumScore[stratumOf(i, dimLevel)], level/20))
		left[i] = o.futureSeconds(i, left[i], rate)
	}
}

// recallSteadiness counts what earlier runs say of how often the share changes, where so many
// seconds are left.
func (o *outlook) recallSteadiness(left float64) {
	if !(o.steady.Seconds > 0) || o.changes == 0 {
		return
	}
	part := min(1, steadyMost*(o.elapsed+left)/o.steady.Seconds)
	o.elapsed += part * o.steady.Seconds
	if k := part * o.steady.Changes; k > 0 {
		o.changes += k
		o.tabulateWaits()
	}
}

// rateDeviation is that of the mean rate over the time it takes to do what is
// left: of the level, which rests on some samples, and of the noise to come,
// of which more averages out the longer it takes.
func (o *outlook) rateDeviation(left, level, samples float64) float64 {
	known := max(o.noise.varianceAt(samples, o.least), o.within) / max(samples, 1)
	horizon := min(max(left/(o.clampRate(level)*o.step), 1), 1e9)
	return math.Sqrt(known + o.noise.varianceAt(horizon, o.least)/horizon)
}

// clampRate keeps a rate within what can be.
func (o *outlook) clampRate(rate float64) float64 {
	if rate < o.bottom {
		return o.bottom
	}
	if o.top > 0 && rate > o.top {
		return o.top
	}
	return rate
}

// futureSeconds is how long future i takes for the amount left, beginning at this rate.
// The rate changes as a Pólya process: after k changes in a time t, the next
// one takes s or more with probability (1 + s/t)^−k.
func (o *outlook) futureSeconds(i int, left, rate float64) float64 {
	if o.changes == 0 {
		return left / rate
	}
	elapsed, t := o.elapsed, 0.0
	for j := range maxJumps {
		wait := elapsed * o.waits[j][stratumOf(i, dimWait+j)/coarse]
		if rate*wait >= left {
			return t + left/rate
		}
		t += wait
		left -= rate * wait
		elapsed += wait
		rate = o.clampRate(o.nextLevel(rate, stratumOf(i, dimJump+j)))
	}
	// Many more changes average out towards the mean of all levels.
	more := left / rate * (o.changes + maxJumps) / elapsed
	rate = o.mean + (rate-o.mean)/math.Sqrt(1+more)
	return t + left/o.clampRate(rate)
}

// nextLevel is the level after a change: one seen before, or a new one.
func (o *outlook) nextLevel(rate float64, u int) float64 {
	u, back := branchStratum(u, o.back)
	if back {
		at := (float64(u) + 0.5) / nFutures * o.pastDur
		for _, l := range o.past {
			if at -= l.dur; at < 0 {
				return l.mean
			}
		}
	}
	u, seen := branchStratum(u, o.seen)
	factor := o.jumps[0][u/coarse]
	if seen {
		factor = o.jumps[1][u/coarse]
	}
	if o.top > 0 && rate*factor > o.top {
		if rate < nearTop*o.top {
			return o.top
		}
		return rate / factor
	}
	return rate * factor
}

// branchStratum is true in a part p of the strata; those on each side become strata
// of their own.
func branchStratum(u int, p float64) (int, bool) {
	split := int(p*nFutures + 0.5)
	if u < split {
		return u * nFutures / split, true
	}
	return (u - split) * nFutures / (nFutures - split), false
}

// futures holds one number for each future.
type futures [nFutures]float64

// toDist is the distribution of the numbers, whose order it changes.
func (f *futures) toDist() Dist {
	slices.Sort(f[:])
	d := Dist{known: true}
	for l, p := range levels {
		at := p*nFutures - 0.5
		i := min(max(int(at), 0), nFutures-2)
		d.q[l] = clampPositive(interpolateBetween(f[i], f[i+1], at-float64(i)))
	}
	return d.repairOrder()
}

// scaleBy multiplies all by k.
func (f *futures) scaleBy(k float64) {
	for i := range f {
		f[i] *= k
	}
}
