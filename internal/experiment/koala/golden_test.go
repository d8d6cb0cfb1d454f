package koala

import (
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/experiment/measured"
)

func TestTheTemplateMakesTablesOfItsData(t *testing.T) {
	text, err := measured.RenderReport(reportTemplate, reportData{
		HowOften: "Once.",
		Verdicts: []verdictTable{{Title: "Wanted:", Rows: []Verdict{{Holds: true, Saw: "3 < 4"}, {Saw: "5 > 4"}}}},
		Holding:  1, Wanted: 2, OtherHolding: 3, OtherVerdicts: 4,
		Metrics: []string{"response", "waiting"},
		Runs:    []reportRow{{"PRA, EGS, Wm", []string{"1 ± 2 s", "3 ± 4 s"}}},
		Workloads: []policyTable{{"Wm", "PRA",
			[]reportRow{{"egs", []string{"5 s", "**6 s**"}}, {"equi", []string{"7 s", "8 s"}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"from the runs. Once.\n\nThe seconds",
		"we see\n\nWanted:\n\n| figure | the paper says | checked as | we see | |\n| --- | --- | --- | --- | --- |\n" +
			"|  |  |  | 3 < 4 | agrees |\n|  |  |  | 5 > 4 | **differs** |\n\n1 of the 2 statements that must come out do; of " +
			"the 4 others 3.\n\n## ",
		"\n\n| run | response | waiting |\n| --- | ---: | ---: |\n| PRA, EGS, Wm | 1 ± 2 s | 3 ± 4 s |\n\n## All",
		"\n\nWm under PRA:\n\n| policy | response | waiting |\n| --- | ---: | ---: |\n| egs | 5 s | **6 s** |\n| equi | 7 " +
			"s | 8 s |\n",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the report does not have\n%s\nbut is\n%s", part, text)
		}
	}
	if _, err := measured.RenderReport(reportTemplate, struct{}{}); err == nil {
		t.Error("a report without its data was made")
	}
}
