package cli

import (
	"fmt"
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

func TestAMatrixOfManyHostsFitsTheTerminal(t *testing.T) {
	cells := [][]string{{""}}
	for i := range 16 {
		cells[0] = append(cells[0], fmt.Sprintf("host-%d", i))
		row := []string{fmt.Sprintf("host-%d", i)}
		for j := range 16 {
			row = append(row, fmt.Sprint(100*i+j))
		}
		cells = append(cells, row)
	}
	var b strings.Builder
	writeCells(&b, cells, 80)
	if n := widestLine(b.String()); n > 80 {
		t.Errorf("%d columns:\n%s", n, b.String())
	}
	for i := range 16 {
		if !strings.Contains(b.String(), fmt.Sprintf(" %d\n", 100*i+15)) {
			t.Errorf("the last of row %d is missing:\n%s", i, b.String())
		}
	}
}

func TestHostsOfAPatternFitTheTerminal(t *testing.T) {
	r := &selectReport{Pattern: "ring", Nodes: 40, of: 63, Groups: []selectGroup{{Bottleneck: 87.5}}}
	for i := range 40 {
		r.Groups[0].Hosts = append(r.Groups[0].Hosts, fmt.Sprintf("region-%d", i))
	}
	var b strings.Builder
	if err := selectTable(r).PrintTable(&b, 80); err != nil {
		t.Fatal(err)
	}
	if n := widestLine(b.String()); n > 80 || !strings.Contains(b.String(), "region-39") {
		t.Errorf("%d columns:\n%s", n, b.String())
	}
}
