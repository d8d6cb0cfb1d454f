package adaptive

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the reports in testdata")

func TestTheReportIsThatOfTestdata(t *testing.T) {
	few := good() // only what was simulated, and trials on a busy machine
	few.Costs, few.Live = nil, nil
	for i := range few.Trials {
		few.Trials[i].Floored = true
		for _, c := range few.Trials[i].Alone {
			c.Free = 0.5
		}
	}
	for path, r := range map[string]*Results{"testdata/report.md": good(), "testdata/few.md": few,
		"testdata/nothing.md": {}} {
		got, err := r.reportMarkdown()
		if err != nil {
			t.Fatal(err)
		}
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
}
