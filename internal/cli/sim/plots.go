package sim

import (
	"path/filepath"

	"github.com/godwit-hpc/godwit/internal/report/plot"
	"github.com/godwit-hpc/godwit/internal/sim/chart"
)

// operations is drawn only where sizes change.
const operations = "operations.svg"

// simCharts are the charts of --plots and their files.
var simCharts = []struct {
	file string
	draw func([]chart.Run) plot.Chart
}{
	{"utilization.svg", chart.UtilizationChart},
	{"queue.svg", chart.QueueChart},
	{operations, chart.OperationsChart},
	{"mean-size.svg", chart.MeanSizes},
	{"max-size.svg", chart.MaxSizes},
	{"execution-time.svg", chart.ExecutionTimes},
	{"response-time.svg", chart.ResponseTimes},
}

// writePlots draws the charts and writes the values of each beside it as CSV. It tells how
// many charts there are.
func writePlots(dir string, reports []*simReport) (charts int, err error) {
	about := reports[0].About
	var runs []chart.Run
	for _, r := range reports {
		runs = append(runs, chart.Run{
			Name: r.policyName(), Records: r.result.Outcome.Records(), Series: r.result.Outcome.Series(), Procs: r.Procs,
		})
	}
	for _, c := range simCharts {
		if c.file == operations && !anyResized(reports) {
			continue
		}
		drawn := c.draw(runs)
		drawn.Title += ", " + about.Title + " on " + about.Platform
		if err := drawn.Save(filepath.Join(dir, c.file)); err != nil {
			return charts, err
		}
		charts++
	}
	return charts, nil
}

func anyResized(reports []*simReport) bool {
	for _, r := range reports {
		if r.GrowOps+r.ShrinkOps > 0 {
			return true
		}
	}
	return false
}
