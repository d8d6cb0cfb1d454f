package flow

import "testing"

// spends asks every millisecond, with the best makespan at each time, and returns how
// long planning went on after the first plan, which took 10 ms.
func spends(best func(t float64) float64, bound float64) float64 {
	var thrift Thrift
	t := 0.010
	for thrift.PaysOff(t, best(t), bound, 0) {
		t += 0.001
	}
	return t - 0.010
}

func TestAVainSearchEndsSoon(t *testing.T) {
	if took := spends(func(float64) float64 { return 100 }, 50); took < 0.033 || took > 0.035 {
		t.Errorf("%v s for a plan of 100 s that gets no shorter, want a 3000th", took)
	}
	if took := spends(func(float64) float64 { return 100 }, 99.9); took > 0.004 {
		t.Errorf("%v s where 0.1 s can be gained", took)
	}
	if took := spends(func(float64) float64 { return 100 }, 100); took != 0 {
		t.Errorf("%v s where nothing can be gained", took)
	}
}

func TestASearchThatPaysGoesOn(t *testing.T) {
	steady := func(t float64) float64 { return max(80, 100-10*t) } // 10 s a second, for two seconds
	if took := spends(steady, 50); took < 1.9 || took > 2.3 {
		t.Errorf("%v s while plans get shorter for 2 s", took)
	}
	slow := func(t float64) float64 { return 100 - t/2 }
	if took := spends(slow, 50); took > 0.1 {
		t.Errorf("%v s while plans get shorter by half the time it takes", took)
	}
	endless := func(t float64) float64 { return 1e6 - 1e4*t }
	if took := spends(endless, 0); took > 8.01 {
		t.Errorf("%v s: nobody waits that long", took)
	}
}

// Whatever happens, at most a 3000th of the plan and an eighth of the gain are lost
// again, with one more question.
func TestWhatASearchGainedIsNotSpentAgain(t *testing.T) {
	for _, gain := range []float64{0, 0.01, 0.1, 1, 10} {
		once := func(t float64) float64 {
			if t < 0.030 {
				return 100
			}
			return 100 - gain
		}
		if took := spends(once, 0); gain-took < -100.0/3000-0.002 || gain > 0.2 && gain-took < gain/2 {
			t.Errorf("gain %v s, took %v s", gain, took)
		}
	}
}

func TestWhatTakesTooLongIsNotBegun(t *testing.T) {
	var thrift Thrift
	if !thrift.PaysOff(0.010, 100, 50, 3) {
		t.Error("three times 10 ms is less than a 3000th of 100 s")
	}
	if thrift.PaysOff(0.010, 100, 50, 4) {
		t.Error("four times 10 ms is not")
	}
}
