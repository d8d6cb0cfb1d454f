package outcome

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestCSVHasOneRowAJobWithoutNeedlessDigits(t *testing.T) {
	s := newStory(t, 20)
	s.submit(0.5, 1, core.Rigid, 4, 4)
	s.submit(10, 2, core.Malleable, 2, 8)
	s.submit(20, 3, core.Rigid, 99, 99)
	s.submit(30, 4, core.Rigid, 1, 1)
	s.become(20, 3, core.Failed)
	s.start(30, 1, 0, 4)
	s.start(30, 2, 1, 2)
	s.grow(40, 2, 1)
	s.become(60, 2, core.Done)
	s.become(61.000000001, 1, core.Done)

	want := `id,submit,start,end,min,max,mean_size,max_size,cluster
7,0.5,30,61.000000001,4,4,4,4,vu
9,10,30,60,2,8,2.666667,3,"a,b"
11,20,,20,99,99,0,0,
12,30,,,1,1,0,0,
`
	var got bytes.Buffer
	names := Names{Labels: []int64{7, 9, 11, 12}, Clusters: []string{"vu", "a,b"}}
	if err := s.c.WriteCSV(&got, names); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("CSV (-want +got):\n%s", diff)
	}
}

func TestCSVNamesAllClustersOfACoAllocatedJob(t *testing.T) {
	s := newStory(t, 20)
	s.submit(0, 1, core.Rigid, 6, 6)
	s.plan(0, 1, 0, 1, 2) // given up again
	s.plan(0, 1, 1, 0, 4)
	s.become(0, 1, core.Selected, core.Queued, core.Submitted)
	s.plan(5, 1, 0, 0, 2)
	s.plan(5, 1, 1, 2, 2)
	s.plan(5, 1, 2, 0, 2)
	s.become(5, 1, core.Selected, core.Queued, core.Running)
	s.become(9, 1, core.Done)

	want := `id,submit,start,end,min,max,mean_size,max_size,cluster
1,0,5,9,6,6,6,6,vu+delft
`
	var got bytes.Buffer
	if err := s.c.WriteCSV(&got, Names{Clusters: []string{"vu", "uva", "delft"}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("CSV (-want +got):\n%s", diff)
	}
}

func TestMomentsBeforeTheFirstSecondAreWrittenToo(t *testing.T) {
	for at, want := range map[core.Time]string{
		0: "0", 1: "0.000000001", -1_500_000_000: "-1.5", 12_000_000_000: "12", 100_000_000: "0.1", core.Never: "",
	} {
		if got := string(appendSeconds(nil, at)); got != want {
			t.Errorf("%d ns: got %q, want %q", int64(at), got, want)
		}
	}
}
