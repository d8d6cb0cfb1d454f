package core

import (
	"math"
	"testing"
)

func TestSizesHaveThreeDigitsAndTheirUnit(t *testing.T) {
	for _, c := range []struct {
		n             int64
		memory, bytes string
	}{
		{0, "0 B", "0 B"}, {1, "1 B", "1 B"}, {999, "999 B", "999 B"}, {1000, "0.98 KiB", "1 kB"},
		{1 << 20, "1 MiB", "1.05 MB"}, {3 << 29, "1.5 GiB", "1.61 GB"}, {5 << 40, "5 TiB", "5.5 TB"},
		{999_600, "976 KiB", "1 MB"}, {1023 << 20, "1 GiB", "1.07 GB"}, {-2_500_000, "-2.38 MiB", "-2.5 MB"},
		{math.MaxInt64, "8 EiB", "9.22 EB"},
	} {
		if got := FormatMemory(c.n); got != c.memory {
			t.Errorf("%d of memory is %q, want %q", c.n, got, c.memory)
		}
		if got := FormatBytes(c.n); got != c.bytes {
			t.Errorf("%d bytes are %q, want %q", c.n, got, c.bytes)
		}
	}
}
