package calibration

import (
	"math"
	"testing"

	"github.com/godwit-hpc/godwit/internal/experiment/loads"
	"github.com/godwit-hpc/godwit/internal/recordings"
)

// Spec 20 and its issue: on CPU-bound programs under changing load the median
// error of the remaining time is below 10 % from one third of the run on, and
// the 90 % bands hold in 87 to 93 %.
func TestBandsHoldAsOftenAsTheySay(t *testing.T) {
	for _, set := range []string{"choosing", "checking"} {
		kinds, seed, missing := loads.CalibrationLoads(recordings.OrGenerated(t, "load"), set == "checking")
		for _, err := range missing {
			t.Logf("a generated load stands for a recorded one: %v", err)
		}
		for _, r := range Rules {
			if set == "choosing" && r.Rule != nil {
				continue
			}
			names, verdicts := SplitByLoad(SimulateLoads(kinds, seed, r.Rule), loads.Alone)
			for i, name := range names {
				v := verdicts[i]
				t.Logf("%s, %s: %-22s %v", set, r.Name, name, v)
				if r.Rule == nil && (v.Holds < 0.82 || v.Holds > 0.99) {
					t.Errorf("%s, %s: %.1f %% of the 90 %% bands hold", set, name, 100*v.Holds)
				}
			}
			if r.Rule != nil {
				continue
			}
			all := verdicts[len(verdicts)-1]
			if all.Holds < 0.87 || all.Holds > 0.93 {
				t.Errorf("%s: %.1f %% of the 90 %% bands hold, not 87 to 93 %%", set, 100*all.Holds)
			}
			if all.Middle >= 0.10 {
				t.Errorf("%s: the median error of the remaining time is %.1f %%", set, 100*all.Middle)
			}
		}
	}
}

func TestEveryMomentIsJudgedOnceByTheFirstPredictionAfterIt(t *testing.T) {
	d := Due{End: 12}
	var got []float64
	for at := 0.0; at <= 12; at++ {
		if m, ok := d.MomentAt(at); ok {
			got = append(got, m, at)
		}
	}
	want := []float64{Moments[0], 4, Moments[1], 6, Moments[2], 8, Moments[3], 10}
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v, want %v", got, want)
			break
		}
	}
	d = Due{End: 12}
	if _, ok := d.MomentAt(12); ok {
		t.Error("nothing is left at the end, and yet it is judged")
	}
}

func TestPredictionsAreSummedUpByRun(t *testing.T) {
	one := func(run uint64, mid, low, high float64) Judged {
		return Judged{Run: run, Load: "x", Moment: Moments[0], Actual: 10, AsNow: 10, Mid: mid, Low: low, High: high}
	}
	v := SumUp([]Judged{one(1, 11, 8, 12), one(1, 12, 8, 12), one(2, 5, 4, 6), one(2, 30, 20, 40)})
	if v.Runs != 2 || v.N != 4 || v.Holds != 0.5 || v.Early != 0.25 || v.Late != 0.25 ||
		math.Abs(v.Deviation-math.Sqrt(2)/4) > 1e-9 {
		t.Errorf("%+v", v)
	}
	if math.Abs(v.Middle-0.5) > 1e-9 || v.MiddleBetween[0] > 0.2+1e-9 || v.MiddleBetween[1] < 0.5 {
		t.Errorf("median %v between %v", v.Middle, v.MiddleBetween)
	}
	if v := SumUp(nil); v.N != 0 {
		t.Errorf("%+v of nothing", v)
	}
}

func TestARunPlayedAgainWithItsNeedKnownIsPredictedExactly(t *testing.T) {
	var at, cpu []float64
	for s := 0.1; s < 10; s += 0.1 {
		at, cpu = append(at, s), append(cpu, s/2)
	}
	all := ReplayRun(5, 0.005, 10, at, cpu)
	if len(all) != len(Moments) {
		t.Fatalf("%d predictions", len(all))
	}
	for _, j := range all {
		if j.Error() > 0.1 || j.Low > j.Actual || j.High < j.Actual {
			t.Errorf("%+v", j)
		}
	}
}
