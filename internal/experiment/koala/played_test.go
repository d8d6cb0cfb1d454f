package koala

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/lab"
	"github.com/godwit-hpc/godwit/internal/sim/scenario"
)

var update = flag.Bool("update", false, "rewrite the jobs for the lab in scenarios/koala")

func loadScaled(t *testing.T, w Workload) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Load(filepath.Join(scenarios, scaledFile(w)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheLabPlaysTheJobsOfTheSimulator(t *testing.T) {
	for _, w := range Workloads() {
		want, err := playedJobs(loadScaled(t, w))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(scenarios, "scaled-"+w.File+".jsonl")
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has other jobs than %s (go test -update rewrites it): %v", path, scaledFile(w), err)
		}
	}
}

func TestTheScaledWorkloadsAreThoseOfThePaperInTwoSecondsAMinute(t *testing.T) {
	for _, w := range Workloads() {
		full, err := scenario.Load(filepath.Join(scenarios, w.File+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		s := loadScaled(t, w)
		if diff := cmp.Diff(full.KeepFree, s.KeepFree) + cmp.Diff(full.GrowFree, s.GrowFree); diff != "" {
			t.Errorf("%s: %s", w.Name, diff)
		}
		for i, p := range full.Workload.Programs {
			q := s.Workload.Programs[i]
			for _, size := range []int{2, 3, 4, 8, 13, 16, 24, 30, 46} {
				a, b := p.App.Speedup.SpeedupAt(size), q.App.Speedup.SpeedupAt(size)
				if d := b/a - 1; d > 0.001 || d < -0.001 {
					t.Errorf("%s: %s is %g times as fast with %d cores, scaled %g times", w.Name, p.App.Name, a, size, b)
				}
			}
			if d := q.Work/(p.Work*scaledSeconds) - 1; d > 0.001 || d < -0.001 || p.App.Accept != q.App.Accept {
				t.Errorf("%s: %s has %g s of work, scaled %g s", w.Name, p.App.Name, p.Work, q.Work)
			}
		}
	}
}

func TestTheLabHasTheClustersOfTheSimulator(t *testing.T) {
	for _, w := range Workloads() {
		s := loadScaled(t, w)
		for _, policy := range []string{fpsma, egs} {
			live, err := lab.LoadScenario(liveFile(scenarios, w, policy))
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"place": "wf", "approach": w.Approach.String(), "malleable": policy}
			if diff := cmp.Diff(want, live.Policy); diff != "" || !live.Broker {
				t.Errorf("%s with %s: %s", w.Name, policy, diff)
			}
			var got, sizes [][3]int
			for i, c := range live.Plan.Clusters {
				got = append(got, [3]int{c.Cores * c.Hosts, c.Share.KeepFree, c.Share.GrowFree})
				sizes = append(sizes, [3]int{s.Platform.Clusters[i].Procs, s.KeepFree[i], s.GrowFree[i]})
			}
			if !slices.Equal(got, sizes) {
				t.Errorf("%s: the lab has clusters of %v, the simulator of %v", w.Name, got, sizes)
			}
		}
	}
}
