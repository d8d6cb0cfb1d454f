package programs

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the report in testdata")

func TestTheReportIsThatOfTestdata(t *testing.T) {
	r := made(20, 0.3, 0.4)
	r.Missing = []string{"train: no Python"}
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
