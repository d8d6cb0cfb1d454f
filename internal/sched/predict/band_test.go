package predict

import (
	"math"
	"testing"
	"time"
)

func TestABandIsStretchedAroundItsMedian(t *testing.T) {
	d := LogNormal(10, 0.1)
	for _, c := range []struct {
		band      Band
		low, high float64 // sigma of each side
	}{{Band{}, 0.1, 0.1}, {Band{1, 1}, 0.1, 0.1}, {Band{2, 0.5}, 0.2, 0.05}, {Band{Low: 3}, 0.3, 0.1}} {
		s := d.stretchSides(c.band)
		mustBeNear(t, "the median", s.Median(), 10, 1e-9)
		mustBeNear(t, "the low end", s.Quantile(0.05), LogNormal(10, c.low).Quantile(0.05), 1e-6)
		mustBeNear(t, "the high end", s.Quantile(0.95), LogNormal(10, c.high).Quantile(0.95), 1e-6)
	}
	if d := (Dist{}).stretchSides(Band{2, 2}); d.IsKnown() {
		t.Error("what is unknown is known once it is stretched")
	}
	if d := Point(0).stretchSides(Band{2, 2}); d.Median() != 0 || d.Quantile(0.95) != 0 {
		t.Errorf("nothing is stretched to %v", d.Quantiles())
	}
}

func TestWhereInTheBandTheEndWas(t *testing.T) {
	for _, c := range []struct {
		f          forecast
		left, want float64
	}{
		{forecast{0, 5, 10, 20}, 10, 0},
		{forecast{0, 5, 10, 20}, 20, 1},
		{forecast{0, 5, 10, 20}, 5, -1},
		{forecast{0, 5, 10, 20}, 40, 2},
		{forecast{0, 0, 10, 20}, 1, 0}, // as early as can be was in the band
		{forecast{0, 10, 10, 10}, 11, maxDeviation},
		{forecast{0, 0, 0, 0}, 1, maxDeviation},
		{forecast{0, 10, 10, 10}, 9, -maxDeviation},
	} {
		if got := c.f.deviationOf(c.left); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %v s were left: %v, not %v", c.f, c.left, got, c.want)
		}
	}
}

// What is told of predictions must not depend on how they were stretched, or the next
// ones would be stretched by what the last ones were.
func TestDeviationsAreThoseOfTheUnstretchedBand(t *testing.T) {
	run := func(b Band) ([]float64, Dist) {
		w := NewWatch(Config{Alone: LogNormal(10, 0.05), Band: b})
		var s Sample
		var d Dist
		for range 110 {
			s.At += 100 * time.Millisecond
			s.CPU += 100 * time.Millisecond
			s.Ran = s.CPU
			w.AddSample(s)
			d, _ = w.RemainingTime()
			w.RemainingTime() // asked twice, kept once
		}
		if n := len(w.forecasts.list); n > maxForecasts || n < maxForecasts/2 {
			t.Errorf("%d predictions are kept", n)
		}
		return w.BandDeviations(), d
	}
	plain, narrow := run(Band{})
	stretched, wide := run(Band{Low: 2, High: 2})
	if len(plain) != len(judgedParts) {
		t.Fatalf("%v", plain)
	}
	for i := range plain {
		if plain[i] != stretched[i] || plain[i] <= 0 {
			t.Errorf("%v, stretched %v", plain, stretched)
		}
	}
	if wide.Median() != narrow.Median() || wide.Quantile(0.95) <= narrow.Quantile(0.95) {
		t.Errorf("%v is not wider than %v", wide.Quantiles(), narrow.Quantiles())
	}
}

func TestAnAttemptOfWhichNothingWasPredictedIsNotJudged(t *testing.T) {
	w := NewWatch(Config{})
	for i := range 20 {
		w.AddSample(Sample{At: time.Duration(i+1) * time.Second, CPU: time.Duration(i+1) * time.Second})
		w.RemainingTime()
	}
	if list := w.BandDeviations(); list != nil {
		t.Errorf("%v", list)
	}
}
