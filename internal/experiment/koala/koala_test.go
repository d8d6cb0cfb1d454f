package koala

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const scenarios = "../../../scenarios/koala"

// all is the experiment, run once for all tests.
var all = sync.OnceValues(func() (*Results, error) {
	return Simulate(context.Background(), scenarios, []uint64{1, 2, 3, 4})
})

func results(t *testing.T) *Results {
	t.Helper()
	r, err := all()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTheShapeOfThePaperComesOut(t *testing.T) {
	for _, v := range results(t).CheckStatements() {
		t.Run(v.Name, func(t *testing.T) {
			switch {
			case v.Holds:
				t.Logf("%s: %s", v.Says, v.Saw)
			case v.Wanted:
				t.Errorf("figure %s: the paper says: %s (%s); we see: %s", v.Where, v.Says, v.Rule, v.Saw)
			default:
				t.Logf("differs: figure %s: %s (%s); we see: %s", v.Where, v.Says, v.Rule, v.Saw)
			}
		})
	}
}

func TestEveryJobOfTheExperimentCompletes(t *testing.T) {
	r := results(t)
	for _, w := range Workloads() {
		for _, policy := range Policies() {
			for i, run := range r.runsOf(w, policy) {
				if s := run.Summary; s.Jobs != 300 || s.Completed != s.Jobs {
					t.Errorf("%s, %s, seed %d: %d of %d jobs completed", w.Name, policy, r.Seeds[i], s.Completed, s.Jobs)
				}
			}
		}
	}
}

func TestPRANeverShrinks(t *testing.T) {
	r := results(t)
	for _, w := range []Workload{wm, wmr} {
		for _, policy := range Policies() {
			if n := r.meanOf(w, policy, shrinkCount); n != 0 {
				t.Errorf("%s, %s: %g shrink operations", w.Name, policy, n)
			}
		}
	}
}

func TestTheReportIsTheSameEveryTime(t *testing.T) {
	r := results(t)
	again, err := Simulate(context.Background(), scenarios, []uint64{1, 2, 3, 4})
	if err != nil {
		t.Fatal(err)
	}
	first, second := files(t, r), files(t, again)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two reports differ:\n%s", diff)
	}
	if len(first) != 1+2*3 {
		t.Errorf("got %d files, want the report and three figures with their values", len(first))
	}
	for name, text := range first {
		if strings.HasSuffix(name, ".md") && !strings.Contains(text, "koala/figure-7.svg") {
			t.Error("the report does not show figure 7")
		}
	}
}

func files(t *testing.T, r *Results) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if _, err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		found[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
