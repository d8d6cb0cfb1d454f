package wire

import (
	"maps"
	"testing"
)

func TestAProgramIsToldWhereAllPartsAre(t *testing.T) {
	all := []Contact{{Part: 0, Cluster: "north", Hosts: []string{"n1", "n2"}, Ranks: 4},
		{Part: 1, Cluster: "south", Hosts: []string{"s1"}, Ranks: 2, First: 4}}
	want := map[string]string{"GODWIT_PART": "1", "GODWIT_PARTS": "2", "GODWIT_FIRST_RANK": "4", "GODWIT_RANKS": "6",
		"GODWIT_PART_0_CLUSTER": "north", "GODWIT_PART_0_HOSTS": "n1 n2", "GODWIT_PART_0_RANKS": "4",
		"GODWIT_PART_0_FIRST_RANK": "0", "GODWIT_PART_1_CLUSTER": "south", "GODWIT_PART_1_HOSTS": "s1",
		"GODWIT_PART_1_RANKS": "2", "GODWIT_PART_1_FIRST_RANK": "4"}
	if got := PartVariables(1, all); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := PartVariables(0, nil); len(got) != 0 {
		t.Errorf("a job of one part is told %v", got)
	}
}
