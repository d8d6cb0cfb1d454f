package dag

import (
	"math"
	"reflect"
	"testing"
)

func TestTheFilesOfAPairOfTasksAreAddedUp(t *testing.T) {
	got := JoinNeeds([]Need{
		{From: 1, To: 2, Bytes: 873e6, Files: 1}, {From: 0, To: 2, Bytes: NoFile}, {From: 1, To: 2, Bytes: NoFile},
		{From: 1, To: 2, Bytes: 873e6, Files: 1}, {From: 0, To: 1, Bytes: NoFile}, {From: 0, To: 1, Bytes: 0, Files: 1},
	})
	want := []Need{
		{From: 0, To: 1, Bytes: 0, Files: 1}, {From: 0, To: 2, Bytes: NoFile}, {From: 1, To: 2, Bytes: 1746e6, Files: 2},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestASumThatCannotBeCountedStaysAtTheLargestNumber(t *testing.T) {
	var needs []Need
	for range 20 {
		needs = append(needs, Need{From: 0, To: 1, Bytes: 1 << 60, Files: 1})
	}
	if got := JoinNeeds(needs); len(got) != 1 || got[0].Bytes != math.MaxInt64 || got[0].Files != 20 {
		t.Errorf("%v", got)
	}
}
