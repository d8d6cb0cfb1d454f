package nodes

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the report in testdata")

func TestTheReportIsThatOfTestdata(t *testing.T) {
	r := made(map[string][2]float64{byChance: {3, 21}, byPairs: {2, 11}, byPattern: {1.5, 6}, byTrialRun: {1.2, 3}})
	for i := range r.Runs {
		r.Runs[i].Hosts = []string{"n1", "n2"}
	}
	r.findRun(2, "cg", byTrialRun).Hosts = []string{"n2", "n3"}
	r.findRun(2, "cg", byTrialRun).Trials = []Trial{{Seconds: 1.5, Runs: 2}}
	r.Probe.Seconds, r.Probe.Error = []float64{2}, []float64{-0.1}
	r.Costs = []Cost{{Pattern: sized[0].name, Hosts: 10, Seconds: 0.5, Proven: true},
		{Pattern: sized[1].name, Hosts: 10, Seconds: 60, Gap: 0.02}}
	got, err := r.reportMarkdown()
	if err != nil {
		t.Fatal(err)
	}
	const path = "testdata/report.md"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("not as in %s (go test -update rewrites it): %v\n%s", path, err, got)
	}
}
