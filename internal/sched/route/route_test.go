package route

import (
	"slices"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestTheFastestWayIsTakenUnlessItBurdensTheBrokerForLittle(t *testing.T) {
	broker := func(s float64) FileWay { return FileWay{Seconds: s} }
	detour := func(s float64) FileWay { return FileWay{Seconds: s, Detour: true} }
	direct := func(s float64) FileWay { return FileWay{From: core.AimAt(1), Seconds: s} }
	for _, c := range []struct {
		ways  []FileWay
		order []int
		why   core.Reason
	}{
		{[]FileWay{broker(3)}, []int{0}, core.Reason{Code: core.WayOnly, A: 3}},
		{[]FileWay{broker(3), direct(2)}, []int{1, 0}, core.Reason{Code: core.WayFastest, A: 2, B: 3}},
		{[]FileWay{broker(3), direct(3)}, []int{0, 1}, core.Reason{Code: core.WayFastest, A: 3, B: 3}},
		{[]FileWay{detour(3), direct(4)}, []int{1, 0}, core.Reason{Code: core.WaySparesBroker, A: 4, B: 3}},
		{[]FileWay{detour(3), direct(5)}, []int{0, 1}, core.Reason{Code: core.WayFastest, A: 3, B: 5}},
		{[]FileWay{detour(9), direct(8), direct(2)}, []int{2, 1, 0}, core.Reason{Code: core.WayFastest, A: 2, B: 8}},
	} {
		order := RankWays(c.ways)
		if !slices.Equal(order, c.order) || ExplainWay(c.ways, order, 0) != c.why {
			t.Errorf("%+v: %v, %+v, want %v, %+v", c.ways, order, ExplainWay(c.ways, order, 0), c.order, c.why)
		}
		if len(order) > 1 && ExplainWay(c.ways, order, 1).Code != core.WayAfterFailure {
			t.Errorf("%+v: the second is taken because: %s", c.ways, ExplainWay(c.ways, order, 1))
		}
	}
}

func TestAWayThatFailedIsTriedAgainLater(t *testing.T) {
	failed := core.AtSecond(1000)
	if IsOpen(failed, failed.Add(30*time.Minute)) || !IsOpen(failed, failed.Add(30*time.Minute+time.Second)) {
		t.Error("a way that failed is closed for half an hour")
	}
}
