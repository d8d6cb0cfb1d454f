package sim

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func widestLine(text string) int {
	most := 0
	for line := range strings.Lines(text) {
		most = max(most, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
	}
	return most
}

func TestAComparisonFitsTheTerminal(t *testing.T) {
	var reports []*simReport
	for _, policy := range []string{"fpsma", "egs"} {
		r := &simReport{}
		r.Title, r.Platform, r.Procs, r.Place, r.Approach, r.Malleable = "busy grid", "das3", 272, "wf", "pra", policy
		r.Jobs, r.Completed, r.GrowOps = 5000, 5000, 14458
		r.MeanResponseS, r.MeanWaitS, r.MeanRunS, r.MakespanS = 2589, 2320, 269, 45956
		reports = append(reports, r)
	}
	var narrow, wide strings.Builder
	compareTable(&narrow, reports, 80)
	compareTable(&wide, reports, 1000)
	if n := widestLine(narrow.String()); n > 80 || strings.Count(narrow.String(), "pra/fpsma") != 2 {
		t.Errorf("%d columns:\n%s", n, narrow.String())
	}
	if strings.Count(wide.String(), "pra/fpsma") != 1 {
		t.Errorf("cut where there is room:\n%s", wide.String())
	}
	for _, value := range []string{"response", "makespan", "shrunk", "45,956 s", "14,458"} {
		if !strings.Contains(narrow.String(), value) {
			t.Errorf("%s is missing:\n%s", value, narrow.String())
		}
	}
}
