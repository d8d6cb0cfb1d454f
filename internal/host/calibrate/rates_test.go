package calibrate

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
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
		if l.Latency <= 0 || l.InOrder <= 0 || l.TwoStreams <= 0 || l.FourStreams <= 0 || l.Written < l.InOrder ||
			l.Beside < 0 || l.Beside > 1 || l.BesideWritten < 0 || l.BesideWritten > 1 ||
			(l.Bytes == 0) != (i == len(h.Levels)-1) {
			t.Errorf("level %d: %+v", i, l)
		}
	}
	if memory := h.Levels[len(h.Levels)-1]; memory.Latency < h.Levels[0].Latency {
		t.Errorf("memory is faster than the nearest cache: %+v", h.Levels)
	}
	var remembered map[string]hostEntry
	text, err := os.ReadFile(cache)
	if err != nil || json.Unmarshal(text, &remembered) != nil || len(remembered[ModelName(0)].Taken) != 1 {
		t.Fatalf("remembered is %s (%v)", text, err)
	}
	entry := remembered[ModelName(0)]
	entry.Taken = slices.Repeat(entry.Taken, measurementsPerModel)
	entry.Taken[0].Operations *= 2
	if err := writeCache(cache, map[string]hostEntry{ModelName(0): entry}); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	again, err := CachedHost(cancelled, cache) // which measures nothing
	if err != nil || again.Operations != 2*h.Operations || len(again.Levels) != len(h.Levels) {
		t.Errorf("%+v after %+v (%v): the best is not kept", again, h, err)
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
	host := func(pace, line, beside float64) perfmodel.Host {
		return perfmodel.Host{Operations: pace, Flops: pace, Speed: 1, Fault: line,
			Levels: []perfmodel.Level{{Latency: line, InOrder: line, TwoStreams: line, FourStreams: line, Written: line,
				Beside: beside}}}
	}
	got := combineMeasurements([]perfmodel.Host{host(1, 2, 0), host(2, 9, 1), host(1, 1, 0.1)})
	want := host(2, 2, 0.1)
	want.Spread = got.Spread
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	off := math.Sqrt((math.Pow(math.Log(4.5), 2) + math.Pow(math.Log(2), 2)) / 3)
	if math.Abs(got.Spread-off) > 1e-9 {
		t.Errorf("spread %g, want %g", got.Spread, off)
	}
}

func TestAHostThatWasSlowWhileItWasMeasuredHasTheMemoryOfItsBestMoments(t *testing.T) {
	host := func(speed float64) perfmodel.Host { // lines in order take as much longer as the core is slower
		return perfmodel.Host{Operations: speed, Flops: speed, Speed: speed, Fault: 1,
			Levels: []perfmodel.Level{{Latency: 1 / math.Pow(speed, waitFeels), InOrder: 1 / speed, TwoStreams: 1 / speed,
				FourStreams: 1 / speed, Written: 1 / speed}}}
	}
	got := combineMeasurements([]perfmodel.Host{host(0.5), host(1), host(0.8)})
	l := got.Levels[0]
	for _, v := range []float64{got.Speed, l.Latency, l.InOrder, l.TwoStreams, l.FourStreams, l.Written} {
		if math.Abs(v-1) > 1e-9 {
			t.Errorf("%+v", got)
		}
	}
}

func TestADisturbedPassDoesNotMakeFurtherMemorySlow(t *testing.T) {
	even := func(line float64) (b blockTimes) {
		for i := range b {
			b[i] = []float64{line, line, line}
		}
		return b
	}
	blocks := []blockTimes{even(1), even(2), even(4), even(8)}
	for i := range blocks[1] {
		blocks[1][i][0] = 30 // others used the memory then
	}
	for i, l := range levelsOf(blocks) {
		want := math.Exp2(float64(i))
		if l.Latency != want || l.InOrder != want || l.TwoStreams != want || l.FourStreams != want || l.Written != want {
			t.Errorf("level %d: %+v, want %g", i, l, want)
		}
	}
}

func TestAGoodMomentOfTheNearestBlockDoesNotMakeMemoryCountBesideComputing(t *testing.T) {
	line := func(fetch, compute float64) (b blockTimes) {
		for i := range b {
			b[i] = []float64{fetch, fetch, fetch}
		}
		for i := range 3 {
			b[computeTime][i], b[recomputeTime][i] = compute, compute
		}
		return b
	}
	// Computing takes 10, but 7 while the first block was measured; fetching 9 is hidden.
	levels := levelsOf([]blockTimes{line(1, 7), line(1, 10), line(1.1, 10), line(1.2, 10), line(10, 10)})
	if l := levels[4]; l.Beside != 0 || l.BesideWritten != 0 {
		t.Errorf("%+v: all of it is hidden", l)
	}
}

func TestCostsRiseAndStayAsNearAsTheyCan(t *testing.T) {
	for _, c := range [][2][]float64{
		{{1, 2, 3}, {1, 2, 3}},
		{{1, 5, 3, 8}, {1, 4, 4, 8}},               // a bad moment is shared by two, not by all
		{{4, 3, 2, 1, 9}, {2.5, 2.5, 2.5, 2.5, 9}}, // all of them
		{{1, 6, 4, 2}, {1, 4, 4, 4}},
		{{7}, {7}},
	} {
		if got := risingCosts(c[0]); !slices.Equal(got, c[1]) {
			t.Errorf("%v became %v, want %v", c[0], got, c[1])
		}
	}
}

func TestStreamsLieInTheBlockWhateverThePage(t *testing.T) {
	for _, page := range []int{4 << 10, 16 << 10, 64 << 10, 2 << 20} {
		for size := minBlock; size <= maxBlock; size *= 2 {
			for _, streams := range []int{2, 4} {
				apart, length := streamParts(size, streams, page)
				if length < perfmodel.Line || length > apart || (streams-1)*apart+length > size ||
					apart%perfmodel.Line != 0 || length%perfmodel.Line != 0 {
					t.Errorf("%d bytes, page %d, %d streams: %d apart, %d long", size, page, streams, apart, length)
				}
			}
		}
	}
}

func TestStreamsGoThroughAllOfABlock(t *testing.T) {
	// share is how many of the lines that are read lie where ones are.
	share := func(size, streams int, isOne func(i int) bool) float64 {
		block := make([]byte, size)
		for i := 0; i < size; i += perfmodel.Line {
			if isOne(i) {
				block[i] = 1
			}
		}
		s, work, turns := new(scratch), streamWork(block, streams), max(1, size/(reads*perfmodel.Line))
		for range turns {
			work(s)
		}
		return float64(s.sink) / float64(turns*reads)
	}
	for size := minBlock; size <= 8<<20; size *= 2 {
		for _, streams := range []int{2, 4} {
			if got := share(size, streams, func(int) bool { return true }); got != 1 {
				t.Errorf("%d bytes in %d streams: %g of the lines are read in a round", size, streams, got)
			}
			length := size / streams
			got := share(size, streams, func(i int) bool { return i%length >= length/2 })
			if size >= 1<<20 && (got < 0.45 || got > 0.55) {
				t.Errorf("%d bytes in %d streams: %g of the lines come from the later halves", size, streams, got)
			}
		}
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
