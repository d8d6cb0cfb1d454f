package calibrate

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/perfmodel"
)

func TestRatesOfAHostAreMeasuredAndRemembered(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "rates.json")
	h, err := CachedHost(context.Background(), cache)
	if err != nil {
		t.Fatal(err)
	}
	if h.Operations < 1e7 || h.Operations > 1e12 || h.Flops < 1e7 || h.Speed <= 0 || h.Fault <= 0 || len(h.Levels) < 2 {
		t.Errorf("%+v", h)
	}
	for i, l := range h.Levels {
		if l.Latency <= 0 || l.InOrder <= 0 || l.Written < l.InOrder || l.Beside < 0 || l.Beside > 1 || l.BesideWritten < 0 ||
			l.BesideWritten > 1 || (l.Bytes == 0) != (i == len(h.Levels)-1) {
			t.Errorf("level %d: %+v", i, l)
		}
	}
	if memory := h.Levels[len(h.Levels)-1]; memory.Latency < h.Levels[0].Latency {
		t.Errorf("memory is faster than the nearest cache: %+v", h.Levels)
	}
	again, err := CachedHost(context.Background(), cache)
	if err != nil || again.Operations < h.Operations {
		t.Errorf("%+v after %+v (%v): the best is not kept", again, h, err)
	}
	if _, err := os.Stat(cache); err != nil {
		t.Error(err)
	}
}

func TestMeasuringRatesCanBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := MeasureRates(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsTypicalOfTheMemoryIsKeptAndTheBestOfThePace(t *testing.T) {
	host := func(pace, latency float64) perfmodel.Host {
		return perfmodel.Host{Operations: pace, Flops: pace, Speed: pace, Fault: latency,
			Levels: []perfmodel.Level{{Latency: latency, InOrder: latency, Written: latency}}}
	}
	got := combineMeasurements(host(2, 1), host(1, 4), 1)
	if got.Operations != 2 || math.Abs(got.Levels[0].Latency-2) > 1e-9 || math.Abs(got.Fault-2) > 1e-9 {
		t.Errorf("%+v", got)
	}
	if want := math.Log(4) / 2; math.Abs(got.Spread-want) > 1e-9 { // each is that far from their mean
		t.Errorf("spread %g, want %g", got.Spread, want)
	}
}

func TestWhatIsHiddenBehindComputingIsTold(t *testing.T) {
	for _, c := range []struct{ computing, together, fetching, want float64 }{
		{10, 10, 4, 0},    // all of it
		{10, 12, 4, 0.5},  // half
		{10, 14, 4, 1},    // nothing
		{10, 25, 4, 1},    // and a bad moment
		{10, 9, 4, 0},     // a good one
		{4, 11, 10, 0.25}, // fetching takes longer
		{10, 10, 0, 0},    // nothing is fetched
		{10, 10, -0.1, 0}, // nor with luck
	} {
		if got := overlapShare(c.computing, c.together, c.fetching); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %g", c, got)
		}
	}
}
