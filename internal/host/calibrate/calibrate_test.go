package calibrate

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// anyCPU is one that this process may use.
func anyCPU(t testing.TB) int {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			return cpu
		}
	}
	t.Fatal("no CPU")
	return 0
}

func TestACPUHasASpeedThatIsNotOffByOrders(t *testing.T) {
	speed, err := MeasureSpeed(context.Background(), anyCPU(t))
	if err != nil {
		t.Fatal(err)
	}
	if speed < 0.02 || speed > 50 {
		t.Errorf("speed %v", speed)
	}
}

func TestHalfTheWorkIsTwiceTheSpeed(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := newScratch()
	for _, k := range workKinds() {
		// Under changing load one comparison may be off; several are not. How
		// precise it is depends on the machine.
		var ratio float64
		for range 100 {
			once, err := leastTime(context.Background(), k, s)
			if err != nil {
				t.Fatal(err)
			}
			twice, err := leastTime(context.Background(), kind{k.name, k.reference, func(s *scratch) { k.work(s); k.work(s) }},
				s)
			if err != nil {
				t.Fatal(err)
			}
			if ratio = float64(twice) / float64(once); ratio > 1.6 && ratio < 2.5 {
				break
			}
		}
		if ratio < 1.6 || ratio > 2.5 {
			t.Errorf("%s: doing it twice takes %.2f times as long", k.name, ratio)
		}
	}
}

// What one measurement costs; it is meant to stay below 0.3 s of CPU time.
func BenchmarkMeasure(b *testing.B) {
	cpu, before := anyCPU(b), processTime(b)
	for b.Loop() {
		if _, err := MeasureSpeed(context.Background(), cpu); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((processTime(b)-before).Microseconds())/1e3/float64(b.N), "CPU-ms/op")
}

func processTime(b *testing.B) time.Duration {
	b.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		b.Fatal(err)
	}
	return time.Duration(ts.Nano())
}

func TestACPUThatIsNotThereIsAnError(t *testing.T) {
	if speed, err := MeasureSpeed(context.Background(), 1000); err == nil {
		t.Errorf("speed %v", speed)
	}
}

func TestMeasuringCanBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := MeasureSpeed(ctx, -1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestTheThreadThatMeasuredDoesNotConfineOthers(t *testing.T) {
	var before, after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	if _, err := MeasureSpeed(context.Background(), anyCPU(t)); err != nil {
		t.Fatal(err)
	}
	for range 50 { // new goroutines get whatever threads there are
		done := make(chan error)
		go func() { done <- unix.SchedGetaffinity(0, &after) }()
		if err := <-done; err != nil || before != after {
			t.Fatalf("a thread may use %v, not %v (%v)", after, before, err)
		}
	}
}

func TestTheChainLeadsThroughAllCacheLines(t *testing.T) {
	s := newScratch()
	n, at := 0, uint32(0)
	for {
		at = s.chain[at]
		if n++; at == 0 {
			break
		}
	}
	if want := len(s.chain) / 16; n != want {
		t.Errorf("the chain has %d links, want %d", n, want)
	}
}

func TestAModelIsMeasuredAFewTimesAndThenKnown(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "speed.json")
	cpu := anyCPU(t)
	fastest := 0.0
	for i := range measurementsPerModel {
		speed, err := CachedSpeed(context.Background(), cpu, cache)
		if err != nil {
			t.Fatal(err)
		}
		if speed < fastest {
			t.Errorf("measurement %d gives %v, less than %v before", i, speed, fastest)
		}
		fastest = speed
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if speed, err := CachedSpeed(cancelled, cpu, cache); err != nil || speed != fastest {
		t.Errorf("%v, %v; want %v without measuring", speed, err, fastest)
	}
	entries, err := os.ReadDir(filepath.Dir(cache))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v %v beside the cache", entries, err)
	}
}

func TestACacheThatIsDamagedIsDoneWithout(t *testing.T) {
	for _, text := range []string{"", "{", "null", "[]", `{"x":{"speed":"fast"}}`} {
		cache := filepath.Join(t.TempDir(), "speed.json")
		if err := os.WriteFile(cache, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		speed, err := CachedSpeed(context.Background(), -1, cache)
		if err != nil || speed <= 0 {
			t.Errorf("%q: %v %v", text, speed, err)
		}
		var known map[string]entry
		data, err := os.ReadFile(cache)
		if err != nil || json.Unmarshal(data, &known) != nil || len(known) != 1 {
			t.Errorf("%q became %q (%v)", text, data, err)
		}
	}
	if speed, err := CachedSpeed(context.Background(), -1, "/nonexistent/speed.json"); err != nil || speed <= 0 {
		t.Errorf("%v %v", speed, err)
	}
}

func TestAModelIsToldByMakeAndMicrocode(t *testing.T) {
	const info = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Fast\nmicrocode\t: 0x1\ncpu MHz\t\t: " +
		"1999.9\n\n" +
		"processor\t: 1\nvendor_id\t: GenuineIntel\nmodel name\t: Slow\nmicrocode\t: 0x2\n\n"
	if got := parseModel([]byte(info), 0); got != "GenuineIntel Fast 0x1" {
		t.Errorf("%q", got)
	}
	if got := parseModel([]byte(info), 1); got != "GenuineIntel Slow 0x2" {
		t.Errorf("%q", got)
	}
	if got := parseModel(nil, 1); got != runtime.GOARCH {
		t.Errorf("%q", got)
	}
}

func FuzzParseModel(f *testing.F) {
	f.Add([]byte("processor\t: 0\nmodel name\t: A\n\nprocessor\t: 1\n"), 1)
	f.Fuzz(func(t *testing.T, data []byte, cpu int) {
		if got := parseModel(data, cpu); got == "" || strings.Contains(got, "\n") {
			t.Errorf("%q", got)
		}
	})
}
