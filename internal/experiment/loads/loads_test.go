package loads

import (
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver/local"
	"github.com/godwit-hpc/godwit/internal/recordings"
)

// The test binary is also a spinner.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "spin" {
		if err := Spin(os.Stdin); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func listed(values ...float64) Load {
	i := -1
	return func() float64 { i++; return values[min(i, len(values)-1)] }
}

func TestProgramsThatComputeLeaveAnEvenShare(t *testing.T) {
	k := Kind{Programs: true}
	got := k.ProgramDemands(listed(1, 0.5, 1./3, 0.98), 4)
	if len(got) != 2 || !slices.Equal(got[0], []float64{0, 1, 1, 0}) || !slices.Equal(got[1], []float64{0, 0, 1, 0}) {
		t.Errorf("%v", got)
	}
}

// Together they take what the record says, and none of them more than an even part.
func TestARecordedUseIsTakenByAsManyAsItNeeds(t *testing.T) {
	shares := []float64{0.9, 0.4, 0.05, 0.7}
	got := (&Kind{}).ProgramDemands(listed(shares...), len(shares))
	for i, share := range shares {
		sum := 0.0
		for _, one := range got {
			sum += one[i]
			if one[i] > 1/float64(len(got)+1) {
				t.Errorf("interval %d: one of %d wants %.3f", i, len(got), one[i])
			}
		}
		if want := min(1-share, mostUse); math.Abs(sum-want) > 1e-9 {
			t.Errorf("interval %d: they want %.3f, not %.3f", i, sum, want)
		}
	}
	if got := (&Kind{Programs: true}).ProgramDemands(listed(1), 3); len(got) != 0 {
		t.Errorf("%d programs where nobody is", len(got))
	}
}

func TestLoadsForCheckingAreOthersThanThoseForChoosing(t *testing.T) {
	dir := recordings.OrGenerated(t, "load")
	choosing, a, missing := CalibrationLoads(dir, false)
	checking, b, _ := CalibrationLoads(dir, true)
	if a == b || len(choosing) != len(checking) || len(choosing) != 5 {
		t.Fatalf("seeds %d and %d, %d and %d kinds", a, b, len(choosing), len(checking))
	}
	for i := range choosing {
		for range 20 {
			if x := choosing[i].Make(rand.New(rand.NewPCG(a, 1)), 50)(); !(x >= 0.05 && x <= 1) {
				t.Errorf("%s: a share of %v", choosing[i].Name, x)
			}
		}
	}
	none, _, gone := CalibrationLoads(t.TempDir(), true)
	if len(gone) != 2 || len(none) != 5 || len(missing) > 2 {
		t.Errorf("%d kinds without records, %v", len(none), gone)
	}
}

func FuzzPercentages(f *testing.F) {
	f.Add("50")
	f.Add("NaN")
	f.Fuzz(func(t *testing.T, s string) {
		use, err := parsePercentages([]string{s})
		if err == nil && !(use[0] >= 0 && use[0] <= 1) {
			t.Errorf("%q: %v", s, use)
		}
	})
}

// What a spinner takes of its processor is bounded by its order, and its end is
// that of its input. (How near it comes to it depends on who else computes.)
func TestASpinnerTakesNoMoreThanItIsTold(t *testing.T) {
	cpus, err := local.UsableCPUs()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	order, err := json.Marshal(Order{CPU: cpus[0], Every: 100 * time.Millisecond, Demands: []float64{0, 0.25}})
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "spin")
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	now := clock.RealClock()
	began := now()
	if _, err := io.WriteString(in, string(order)+"\n\n"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second) // this long is measured
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	used, took := (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(), now.Since(began).Seconds()
	if most := 0.3*took + 0.3; used > most || used < 0.02 {
		t.Errorf("it took %.2f s of a processor in %.2f s", used, took)
	}
}

func TestASpinnerWithoutAnOrderSaysSo(t *testing.T) {
	r, w := io.Pipe()
	go func() { _, _ = io.WriteString(w, "{}\n"); _ = w.Close() }()
	if err := Spin(r); err == nil {
		t.Error("it began")
	}
}
