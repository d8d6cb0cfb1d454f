package models

import (
	"flag"
	"os"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/perfmodel"
)

var update = flag.Bool("update", false, "rewrite the report in testdata")

func TestTheReportIsThatOfTestdata(t *testing.T) {
	r := new(Results)
	r.putCase(seen("gauss", true))
	r.putCase(seen("sort", false))
	r.Cases[0].Model.Host.Levels = []perfmodel.Level{{Bytes: 32768, Latency: 2e-9, InOrder: 1e-9},
		{Latency: 9e-8, Beside: 0.5}}
	got, err := r.reportText()
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
