package forecast

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// Config is what is known about a series before its first value. The zero
// Config will do.
type Config struct {
	Step  time.Duration // usual time between values; 0: as they come
	Most  float64       // what a value cannot exceed (capacity of a link, 1 for a share); 0: no such bound
	Prior Prior         // what others of the kind tell
}

// Largest is the largest value that is taken for a measurement.
const Largest = 1e100

var (
	// ErrValue is returned for what cannot be a measurement.
	ErrValue = errors.New("a measurement is a finite number of at least 0")
	// ErrOrder is returned for a value that is not later than the one before.
	ErrOrder = errors.New("measurements come one after the other")
)

// Forecaster forecasts one series. Make one with New, or read one from JSON.
type Forecaster struct {
	config   Config
	last     core.Time
	gaps     [nGaps]time.Duration // the last times between values
	nGap     int
	family   family
	horizons [nHorizons]horizon
}

// nGaps is how many times between values tell the usual one: their median.
const nGaps = 5

// missing is from how many usual steps on something is taken to be missing
// between two values. What is then said of the next value was not said of this.
const missing = 2.5

// Forecast is what a series will be.
type Forecast struct {
	Value float64      // the answer; it errs least on the average
	Dist  predict.Dist // where it will be
	Error float64      // mean absolute error to expect
	By    string       // the member of the family that counts most
	Part  float64      // how much of the answer is its
	Steps int          // how many values the answer is the mean of
}

// Track is how a member of the family did.
type Track struct {
	Name   string
	MAE    float64 // mean absolute error
	MSE    float64 // mean squared error
	Weight float64 // part of the answer that it makes now
}

// New makes a forecaster of a series that has no values yet.
func New(c Config) *Forecaster {
	f := &Forecaster{config: c, family: newFamily()}
	for i := range f.horizons {
		h := &f.horizons[i]
		h.steps, h.spread = horizons[i], newSpread()
		h.mix = h.record.mixMembers(&f.config.Prior)
	}
	return f
}

// Len is how many values came so far.
func (f *Forecaster) Len() int { return f.family.recent.count }

// LastValue is the last value and when it came.
func (f *Forecaster) LastValue() (at core.Time, value float64, ok bool) {
	if f.Len() == 0 {
		return 0, 0, false
	}
	return f.last, f.family.recent.valueBack(1), true
}

// AddValue tells of a value. One that is refused changes nothing.
func (f *Forecaster) AddValue(at core.Time, value float64) error {
	if math.IsNaN(value) || value < 0 || value > Largest {
		return fmt.Errorf("%v: %w", value, ErrValue)
	}
	steps := 1.0
	if f.Len() > 0 {
		gap := at.Sub(f.last)
		if gap <= 0 {
			return fmt.Errorf("%v after the one before: %w", gap, ErrOrder)
		}
		if s := f.UsualStep(); s > 0 && float64(gap) > missing*float64(s) {
			steps = float64(gap) / float64(s)
		}
		f.gaps[f.nGap%nGaps] = gap
		f.nGap++
	}
	f.last = at
	if f.Len() == 0 {
		f.horizons[0].spread.scale = firstGuess * value
	}
	for i := range f.horizons {
		h := &f.horizons[i]
		if steps > 1 {
			h.waiting = false
		}
		if i > 0 && h.spread.n == 0 {
			h.spread.scale = f.horizons[i-1].spread.scale
		}
		h.addValue(value, &f.config.Prior)
	}
	f.family.addValue(value, steps)
	for i := range f.horizons {
		f.horizons[i].makeForecast(&f.family)
	}
	return nil
}

// UsualStep is the usual time between values; 0 if that is not known yet.
func (f *Forecaster) UsualStep() time.Duration {
	if f.config.Step > 0 {
		return f.config.Step
	}
	n := min(f.nGap, nGaps)
	if n == 0 {
		return 0
	}
	gaps := f.gaps
	slices.Sort(gaps[:n])
	return gaps[n/2]
}

// ForecastNext forecasts the next value; false if there was none yet.
func (f *Forecaster) ForecastNext() (Forecast, bool) { return f.ForecastOver(1) }

// ForecastUntil forecasts the mean from the last value to a later moment. A forecast
// asked for long after the last value is one over a long time.
func (f *Forecaster) ForecastUntil(at core.Time) (Forecast, bool) {
	steps := 1.0
	if s := f.UsualStep(); s > 0 {
		steps = math.Ceil(float64(at.Sub(f.last)) / float64(s))
	}
	return f.ForecastOver(int(min(max(steps, 1), farthestStep)))
}

// farthestStep is as far as it is looked ahead.
const farthestStep = 1 << 20

// ForecastOver forecasts the mean of the next steps values; false if there was no
// value yet.
func (f *Forecaster) ForecastOver(steps int) (Forecast, bool) {
	if f.Len() == 0 {
		return Forecast{}, false
	}
	steps = min(max(steps, 1), farthestStep)
	h, scale := f.horizonFor(steps)
	value := h.value
	if steps > 1 {
		var said forecasts
		f.family.forecastMean(steps, &said)
		value = h.mix.combineForecasts(&said)
	}
	if f.config.Most > 0 {
		value = min(value, f.config.Most)
	}
	return Forecast{
		Value: value, Dist: h.spread.distAround(value, scale, f.config.Most), Error: scale,
		By: names[h.mix.first], Part: h.mix.weights[h.mix.first], Steps: steps,
	}, true
}

// horizonFor is the horizon nearest to steps among those judged often enough,
// and the mean error to expect: between two horizons by the straight line
// through the logarithms. Beyond what has been judged the error
// is taken to grow, and not faster than that of a random walk.
func (f *Forecaster) horizonFor(steps int) (*horizon, float64) {
	known := 0
	for known+1 < nHorizons && 2*f.horizons[known].steps < steps && f.horizons[known+1].isBelieved() {
		known++
	}
	h := &f.horizons[known]
	if h.steps == steps || h.spread.scale == 0 {
		return h, h.spread.scale
	}
	apart := math.Log(float64(steps)/float64(h.steps)) / math.Log(4) // in horizons
	if known+1 < nHorizons && f.horizons[known+1].isBelieved() || apart < 0 {
		from, to := known, known+1
		if apart < 0 {
			from, to = known-1, known
		}
		return h, h.spread.scale * math.Pow(f.errorGrowth(from, to), apart)
	}
	growth := 2.0
	if known > 0 {
		growth = min(max(f.errorGrowth(known-1, known), 1), growth)
	}
	return h, h.spread.scale * math.Pow(growth, apart)
}

// errorGrowth is the mean error at one horizon as a multiple of that at another.
func (f *Forecaster) errorGrowth(from, to int) float64 {
	a, b := f.horizons[from].spread.scale, f.horizons[to].spread.scale
	if a == 0 {
		return 1
	}
	return min(max(b/a, 0.25), 4)
}

// MemberErrors is how each member did in forecasting the next value, errors of long
// ago counting less; all zero before the second value.
func (f *Forecaster) MemberErrors() []Track {
	h := &f.horizons[0]
	n := max(h.record.n, 1)
	tracks := make([]Track, nMembers)
	for i := range tracks {
		tracks[i] = Track{names[i], h.record.abs[i] / n, h.record.squared[i] / n, h.mix.weights[i]}
	}
	return tracks
}
