package predict

import (
	"math"
	"testing"
)

func TestTheEndOfAJobThatHasNotBegunCountsWaitTransferAndRun(t *testing.T) {
	wait, transfer, work := Point(20), Point(5), Point(300)
	d := FinishTime(wait, transfer, Demand{Work: work}, 1.5, 2, Point(1))
	if got := d.Median(); math.Abs(got-125) > 2 {
		t.Errorf("ends after %.1f s, not 125", got)
	}
	if p := d.ProbabilityBelow(124); p > 0.1 {
		t.Errorf("ends within 124 s with probability %.2f", p)
	}
	if p := d.ProbabilityBelow(200); p < 0.85 {
		t.Errorf("ends within 200 s with probability %.2f", p)
	}
	none := Dist{}
	if FinishTime(wait, transfer, Demand{}, 1, 1, none).IsKnown() {
		t.Error("the end of a job of unknown work is known")
	}
	if got := FinishTime(none, none, Demand{Work: work}, 1, 1, none).Median(); math.Abs(got-300) > 3 {
		t.Errorf("without wait and transfer it ends after %.1f s, not 300", got)
	}
	if got := FinishTime(none, transfer, Demand{Work: work}, 1, 1, none).Median(); math.Abs(got-305) > 3 {
		t.Errorf("with a transfer it ends after %.1f s, not 305", got)
	}
}
