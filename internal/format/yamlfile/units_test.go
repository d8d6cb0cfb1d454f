package yamlfile_test

import (
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

func TestSizesHaveTheUnitsOfBatchSystems(t *testing.T) {
	for s, want := range map[string]int64{
		"4096": 4096, "4G": 4 << 30, "4Gi": 4 << 30, "4GiB": 4 << 30, "4GB": 4e9, "0.5K": 512, "1.5 M": 3 << 19,
		"1e3": 1000, "1E3kB": 1e6,
	} {
		if got, ok := yamlfile.ParseSize(s); !ok || got != want {
			t.Errorf("%q is %d, %v; want %d", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "G", "-1", "4X", "1e99", "nan", "inf", "0x10", "1_000", "4 G B", "2000P"} {
		if got, ok := yamlfile.ParseSize(s); ok {
			t.Errorf("%q is taken as %d", s, got)
		}
	}
}

func TestTimesHaveUnitsFromMillisecondsToWeeks(t *testing.T) {
	const day = 24 * time.Hour
	for s, want := range map[string]time.Duration{
		"0": 0, "90": 90 * time.Second, "0.5": 500 * time.Millisecond, "250ms": 250 * time.Millisecond,
		"30s": 30 * time.Second,
		"10m": 10 * time.Minute, "1h30m": 90 * time.Minute, "1.5h": 90 * time.Minute, "2d": 2 * day, "1w2d3h4m5s6ms": 9*day +
			3*time.Hour + 4*time.Minute + 5*time.Second + 6*time.Millisecond, "36525d": 36525 * day,
	} {
		if got, ok := yamlfile.ParseDuration(s); !ok || got != want {
			t.Errorf("%q is %v, %v; want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "s", ".", "-1", "+1s", "1h30", "30 s", "1hs", "1x", "1.2.3s", "1e3", "h1", "nan",
		"infs", "36526d", "1ns", "1y"} {
		if got, ok := yamlfile.ParseDuration(s); ok {
			t.Errorf("%q is taken as %v", s, got)
		}
	}
}

func TestAUnitBeginsWhereTheNumberEnds(t *testing.T) {
	for s, want := range map[string][2]string{
		"5EBps": {"5", "EBps"}, "1.25E9Bps": {"1.25E9", "Bps"}, "-3e-2 ms": {"-3e-2", "ms"}, "x": {"", "x"}, "7": {"7", ""},
		"": {"", ""},
	} {
		if number, unit := yamlfile.CutUnit(s); number != want[0] || unit != want[1] {
			t.Errorf("%q is cut into %q and %q", s, number, unit)
		}
	}
}
