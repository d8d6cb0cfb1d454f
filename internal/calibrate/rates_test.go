package calibrate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
)

func TestRatesOfAHostAreMeasuredAndRemembered(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "rates.json")
	h, err := Host(context.Background(), cache)
	if err != nil {
		t.Fatal(err)
	}
	if h.Operations < 1e7 || h.Operations > 1e12 || h.Flops < 1e7 || h.Speed <= 0 || h.Fault <= 0 || len(h.Levels) < 2 {
		t.Errorf("%+v", h)
	}
	for i, l := range h.Levels {
		if l.Latency <= 0 || l.InOrder <= 0 || (l.Bytes == 0) != (i == len(h.Levels)-1) {
			t.Errorf("level %d: %+v", i, l)
		}
	}
	if memory := h.Levels[len(h.Levels)-1]; memory.Latency < h.Levels[0].Latency {
		t.Errorf("memory is faster than the nearest cache: %+v", h.Levels)
	}
	again, err := Host(context.Background(), cache)
	if err != nil || again.Operations < h.Operations || again.Fault > h.Fault {
		t.Errorf("%+v after %+v (%v): the best is not kept", again, h, err)
	}
	if _, err := os.Stat(cache); err != nil {
		t.Error(err)
	}
}

func TestMeasuringRatesCanBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Rates(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestCachesAreReadAsTheKernelTellsThem(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s + "\n")} }
	got := cacheSizes(fstest.MapFS{
		"index0/level": file("1"), "index0/type": file("Data"), "index0/size": file("48K"),
		"index1/level": file("1"), "index1/type": file("Instruction"), "index1/size": file("32K"),
		"index2/level": file("2"), "index2/type": file("Unified"), "index2/size": file("2048K"),
		"index3/level": file("3"), "index3/type": file("Unified"), "index3/size": file("105M"),
		"index4/level": file("four"), "index4/type": file("Unified"), "index4/size": file("1G"),
	})
	if want := []float64{48 << 10, 2 << 20, 105 << 20}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := cacheSizes(fstest.MapFS{}); len(got) != 3 {
		t.Errorf("without files: %v", got)
	}
}

func FuzzParseSize(f *testing.F) {
	f.Add("48K")
	f.Fuzz(func(t *testing.T, s string) {
		if v := parseSize(s); !(v >= 0) {
			t.Errorf("%q: %v", s, v)
		}
	})
}
