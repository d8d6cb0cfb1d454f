package broker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestJobsAreSelectedByNumberRangeElementAndName(t *testing.T) {
	g := newGrid(t)
	array := jobfile.ArrayRange{First: 1, Last: 3, Step: 1}
	one := g.submit(jobfile.Job{Name: "prep", Begin: 3600e9})
	arrays := func() {
		t.Helper()
		if _, err := g.broker().SubmitJob(t.Context(),
			&jobfile.Job{Name: "many", Argv: []string{"x"}, Min: 1, Max: 1, Array: array, Begin: 3600e9}, ""); err != nil {
			t.Fatal(err)
		}
	}
	arrays() // 2 to 4
	if five := g.submit(jobfile.Job{Name: "prep", Begin: 3600e9}); one != 1 || five != 5 {
		t.Fatalf("jobs %d and %d", one, five)
	}
	arrays() // 6 to 8
	if _, err := g.broker().CancelJob(t.Context(), "1"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		refs   string
		newest bool
		want   []core.JobID
	}{
		{refs: "5", want: []core.JobID{5}},
		{refs: "2", want: []core.JobID{2, 3, 4}},
		{refs: "3", want: []core.JobID{3}},
		{refs: "2_2", want: []core.JobID{3}},
		{refs: "2_[1-2] 2_*", want: []core.JobID{2, 3, 4}},
		{refs: "4-6", want: []core.JobID{4, 5, 6}},
		{refs: "5,1", want: []core.JobID{5, 1}},
		{refs: "last", want: []core.JobID{6, 7, 8}},
		{refs: "all", want: []core.JobID{2, 3, 4, 5, 6, 7, 8}},
		{refs: "prep", want: []core.JobID{5}},
		{refs: "many", want: []core.JobID{2, 3, 4, 6, 7, 8}},
		{refs: "many", newest: true, want: []core.JobID{6, 7, 8}},
	} {
		got, err := g.broker().SelectJobs(t.Context(), strings.Fields(c.refs), c.newest)
		ids := []core.JobID{}
		for i := range got {
			ids = append(ids, got[i].ID)
		}
		if err != nil || !slices.Equal(ids, c.want) {
			t.Errorf("%s means %v, %v; want %v", c.refs, ids, err, c.want)
		}
	}
	for ref, want := range map[string]string{
		"99":                               "no such job: 99 (godwit ps --all lists all jobs)",
		"50-60":                            "no such job: 50-60 (godwit ps --all lists all jobs)",
		"nobody":                           "no such job: nobody (godwit ps --all lists all jobs)",
		"2_9":                              "no such job: 2_9 (array 2 has no index 9)",
		"5_1":                              "no such array: 5 (godwit ps --all lists all jobs)",
		strings.Repeat("5,", 10_000) + "5": "more than 10000 jobs are named one by one (a range such as 1-20000 is one name)",
	} {
		if _, err := g.broker().SelectJobs(t.Context(), []string{ref}, false); !badinput.Is(err) || fmt.Sprint(err) != want {
			t.Errorf("%s is told as %v, want %s", ref, err, want)
		}
	}
}
