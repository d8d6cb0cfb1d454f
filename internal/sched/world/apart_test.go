package world

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestClustersAreApartInBothDirectionsForAWhile(t *testing.T) {
	w := New(Spec{Clusters: []ClusterSpec{{Name: "a"}, {Name: "b"}, {Name: "c", Isolated: true}}})
	apply := func(from core.ClusterID, aim core.Aim, until core.Time) error {
		return w.ApplyEvent(&core.Event{Kind: core.ClustersApart, Cluster: from, Aim: aim, When: until})
	}
	a, b, c := w.Cluster(0), w.Cluster(1), w.Cluster(2)
	if a.IsApart(b, 1) || a.IsApart(a, 1) || c.IsApart(c, 1) || !a.IsApart(c, 1) || !c.IsApart(b, 1) {
		t.Error("at first only the isolated one is apart from others")
	}
	for _, aim := range []core.Aim{0, core.AimNowhere, core.AimAt(0), core.AimAt(3)} {
		if apply(0, aim, 9) == nil {
			t.Errorf("an event with aim %d is applied", aim)
		}
	}
	if err := apply(0, core.AimAt(1), 9); err != nil {
		t.Fatal(err)
	}
	if !a.IsApart(b, 8) || !b.IsApart(a, 8) || a.IsApart(b, 9) {
		t.Error("they are not apart until the moment")
	}
	if err := apply(1, core.AimAt(0), 0); err != nil || a.IsApart(b, 8) || b.IsApart(a, 8) {
		t.Errorf("they are apart, though they reach each other: %v", err)
	}
}
