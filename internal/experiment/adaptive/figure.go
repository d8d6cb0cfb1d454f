package adaptive

import (
	"github.com/godwit-hpc/godwit/internal/cli/demo/testbed"
	"github.com/godwit-hpc/godwit/internal/report/plot"
)

// leftChart draws the predicted remaining time of a job against the actual one,
// as figures 5.8 to 5.19 of the paper do.
func (c *Course) leftChart() plot.Chart {
	r := testbed.Record{Name: c.Name, Took: c.TookSeconds(), Deadline: c.Deadline, LoadAt: c.LoadAt, Moves: c.MoveTimes()}
	for _, p := range c.Points {
		if p.Mid > 0 {
			r.Predictions = append(r.Predictions, testbed.Prediction{At: p.At, Early: p.Early, Mid: p.Mid, Late: p.Late})
		}
	}
	return r.RemainingChart()
}
