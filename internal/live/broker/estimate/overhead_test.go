package estimate

import (
	"math"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/observe/weather"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// fakeGrid has clusters near, where the broker is, and leeds and leeds-long, at one site.
type fakeGrid struct {
	Grid
	mbps float64 // from the broker to leeds; 0: not known
}

func (g fakeGrid) IsHere(cluster string) bool { return cluster == "near" }

func (g fakeGrid) ForecastWay(_, to string) (weather.PathForecast, bool) {
	if g.mbps == 0 || to == "near" {
		return weather.PathForecast{}, false
	}
	return weather.PathForecast{Mbps: predict.LogNormal(g.mbps, 0.01)}, true
}

func burnAt(cluster string, v *wire.Vitals) *MovingJob {
	return &MovingJob{ID: 7, Cluster: cluster, Spec: &jobfile.Job{Argv: []string{"burn"}}, Vitals: v}
}

func TestAMoveCostsWhatTheWayOfItsCheckpointTakes(t *testing.T) {
	const mb = 1_000_000
	save := history.Transfer{What: history.Save, Job: 7, Program: "burn", Method: "sandbox", From: "near", Bytes: 400 * mb,
		Sent: 100 * mb, Seconds: 2}
	saves := []history.Transfer{{What: history.Save, Job: 7, Program: "burn", Method: "sandbox", From: "near",
		Bytes: 400 * mb, Sent: mb, Seconds: 2}, save}
	moved := append([]history.Transfer{{What: history.Restore, Program: "burn", Method: "sandbox", To: "leeds",
		Bytes: 400 * mb, Seconds: 11}}, saves...)
	longer := append([]history.Transfer{{What: history.Restore, Program: "burn", Method: "sandbox", To: "leeds-long",
		Bytes: 400 * mb, Seconds: 40}}, moved...)
	for _, c := range []struct {
		name     string
		mbps     float64 // from the broker to leeds; 0: not known
		from     string
		cost     float64 // as the agent measured
		rows     []history.Transfer
		to, also string
		want     [2]float64 // seconds to move to these two
	}{
		{"nothing is known of the way", 0, "near", 3, saves, "leeds", "near", [2]float64{3.5, 3.5}},
		{"100 MB at 10 MB/s", 80, "near", 3, saves, "leeds", "near", [2]float64{13.5, 3.5}},
		{"at 1 MB/s", 8, "near", 3, saves, "leeds", "near", [2]float64{103.5, 3.5}},
		{"what was measured has gone that way", 80, "leeds", 14, saves, "leeds-long", "near", [2]float64{14.5, 4.5}},
		{"no more than restoring", 80, "leeds", 6, saves, "leeds-long", "near", [2]float64{12.5, 2.5}},
		{"it was restored there before", 80, "near", 0, moved, "leeds", "near", [2]float64{13.5, 3.5}},
		{"nothing is known of the way: where it was restored it is as it was there", 0, "near", 0, longer, "leeds",
			"leeds-long", [2]float64{13.5, 42.5}},
		{"never saved: its memory", 80, "near", 0, nil, "leeds", "near", [2]float64{33.5, 3.5}},
	} {
		e := NewEstimator(fakeGrid{mbps: c.mbps}, nil)
		v := &wire.Vitals{Method: "sandbox", SaveCost: c.cost, Memory: 300 * mb}
		for i, to := range []string{c.to, c.also} {
			got := e.moveOverhead(c.rows, burnAt(c.from, v), &Cluster{Name: to}).Median()
			if math.Abs(got-c.want[i]) > 0.2*c.want[i] {
				t.Errorf("%s: to %s costs %.1f s, want %.1f", c.name, to, got, c.want[i])
			}
		}
	}
	restarted := burnAt("near", &wire.Vitals{Method: "restart"})
	e := NewEstimator(fakeGrid{}, nil)
	if got := e.moveOverhead(saves, restarted, &Cluster{Name: "leeds"}).Median(); got != minMoveOverhead {
		t.Errorf("to begin again costs %v s", got)
	}
}

func TestATinyCheckpointOfAnotherProgramDoesNotMakeMovesExpensive(t *testing.T) {
	e := NewEstimator(fakeGrid{}, nil)
	tiny := []history.Transfer{{What: history.Save, Job: 1, Program: "counter.py", Method: "signal", From: "near",
		Bytes: 786, Sent: 786, Seconds: 0.17}}
	v := &wire.Vitals{Method: "sandbox", Memory: 120_000_000}
	for _, rows := range [][]history.Transfer{nil, tiny} {
		cost := e.moveOverhead(rows, burnAt("near", v), &Cluster{Name: "leeds"})
		if cost.Median() < 1 || cost.Median() > 6 || cost.Quantile(0.95) > 30 {
			t.Errorf("after %d saves a move costs %.1f s, 95 %% of them at most %.1f s", len(rows), cost.Median(),
				cost.Quantile(0.95))
		}
	}
}

func TestATransferOverAWayThatIsKnownIsLessUncertain(t *testing.T) {
	unknown := bringSpread(fakeGrid{}.ForecastWay("", "leeds"))
	if s := bringSpread(fakeGrid{mbps: 80}.ForecastWay("", "leeds")); s >= unknown || s <= 0 {
		t.Errorf("the spread is %v, without anything known it is %v", s, unknown)
	}
}
