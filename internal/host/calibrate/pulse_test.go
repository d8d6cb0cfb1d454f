package calibrate

import (
	"math"
	"testing"

	"golang.org/x/sys/unix"
)

func TestThePulseOfAProcessorIsFeltAndTheThreadIsLeftAsItWas(t *testing.T) {
	var before, after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	felt := 0
	for cpu := range 1024 {
		if !before.IsSet(cpu) {
			continue
		}
		p, err := MeasurePulse(cpu)
		if err != nil || !(p > 0.01) || p > 1000 {
			t.Errorf("the pulse of CPU %d is %g, %v", cpu, p, err)
		}
		if felt++; felt == 4 {
			break
		}
	}
	if err := unix.SchedGetaffinity(0, &after); err != nil || after != before {
		t.Errorf("the thread may use %v now, %v before (%v)", after.Count(), before.Count(), err)
	}
	if p, err := MeasurePulse(1023); err == nil && !before.IsSet(1023) {
		t.Errorf("a CPU that is not ours has a pulse of %g", p)
	}
}

func TestPulsesAreWeighedByWhatWasDone(t *testing.T) {
	var s Slower
	if s.MeanPulse() != 0 {
		t.Errorf("nothing was felt, but it is %g", s.MeanPulse())
	}
	s.AddPulse(0, 5) // not known
	s.AddPulse(math.Inf(1), 1)
	s.AddPulse(1, 3)
	s.AddPulse(16, 1)
	if got := s.MeanPulse(); math.Abs(got-2) > 1e-9 {
		t.Errorf("%g, want 2: the fourth root of 16", got)
	}
}

func BenchmarkPulse(b *testing.B) {
	for b.Loop() {
		if _, err := MeasurePulse(0); err != nil {
			b.Fatal(err)
		}
	}
}
