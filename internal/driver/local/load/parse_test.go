package load

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const procStat = `cpu  100 200 300 4000 50 6 7 8 90 0
cpu0 10 20 30 400 5 6 7 8 9 0
cpu1 1 2 3 4 5 6 7 8
cpu3 1 2 3 4
cpux 1 2 3 4 5 6 7 8 9
intr 5
`

func TestBusyTimeIsAllButIdleAndWaiting(t *testing.T) {
	got := parseCPUTimes([]byte(procStat)).busy
	if diff := cmp.Diff(map[int]ticks{0: 10 + 20 + 30 + 6 + 7 + 8, 1: 1 + 2 + 3 + 6 + 7 + 8}, got); diff != "" {
		t.Error(diff)
	}
	real, err := readCPUTimes()
	if err != nil || len(real.busy) == 0 {
		t.Errorf("%v %v", real, err)
	}
}

func TestBusyIsAPartOfTheTimeBetween(t *testing.T) {
	before, after := cpuTimes{map[int]ticks{0: 100, 1: 100, 2: 100}}, cpuTimes{map[int]ticks{0: 150, 1: 90, 2: 900, 3: 5}}
	got := after.busySince(before, 2)
	if diff := cmp.Diff(map[int]float64{0: 0.25, 1: 0, 2: 1}, got); diff != "" {
		t.Error(diff)
	}
	for _, part := range after.busySince(before, 0) {
		t.Errorf("%v of no time", part)
	}
}

func TestASessionIsAGroupWithANiceValue(t *testing.T) {
	if key, nice, ok := parseAutogroup([]byte("/autogroup-17 nice -5\n")); key != "/autogroup-17" || nice != -5 || !ok {
		t.Errorf("%q %d %v", key, nice, ok)
	}
	for _, s := range []string{"", "/autogroup-17", "x nice 0", "/autogroup-1 nice 40", "/autogroup-1 nice x"} {
		if _, _, ok := parseAutogroup([]byte(s)); ok {
			t.Errorf("%q is taken", s)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(procStat)
	f.Add("/autogroup-1 nice 3")
	f.Fuzz(func(t *testing.T, s string) {
		for cpu, busy := range parseCPUTimes([]byte(s)).busySince(cpuTimes{map[int]ticks{0: 1}}, 1) {
			if cpu < 0 || busy < 0 || busy > 1 || math.IsNaN(busy) {
				t.Errorf("CPU %d was busy for %v", cpu, busy)
			}
		}
		parseAutogroup([]byte(s))
	})
}
