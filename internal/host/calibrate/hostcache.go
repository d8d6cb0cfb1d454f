package calibrate

import (
	"context"
	"encoding/json"
	"math"
	"os"

	"github.com/godwit-hpc/godwit/internal/sched/perfmodel"
)

// hostEntry is what is known of the rates of one model of CPU.
type hostEntry struct {
	Host     perfmodel.Host `json:"host"`
	Measured int            `json:"measured"`
	Version  int            `json:"version"`
}

// ratesVersion changes with what is measured: what was remembered before is then
// no longer valid.
const ratesVersion = 3

// CachedHost is MeasureRates with a memory, as CachedSpeed is MeasureSpeed with one. Of the first few
// measurements the best of each rate of computing counts, since whatever disturbs
// slows down, and what is typical of the memory.
func CachedHost(ctx context.Context, cache string) (perfmodel.Host, error) {
	key := ModelName(0)
	known := map[string]hostEntry{}
	if text, err := os.ReadFile(cache); err != nil || json.Unmarshal(text, &known) != nil || known == nil {
		known = map[string]hostEntry{}
	}
	was := known[key]
	if was.Measured >= measurementsPerModel && was.Version == ratesVersion {
		return was.Host, nil
	}
	now, err := MeasureRates(ctx)
	if err != nil {
		return now, err
	}
	if was.Version != ratesVersion {
		was.Measured = 0
	}
	if was.Measured > 0 && len(was.Host.Levels) == len(now.Levels) {
		now = combineMeasurements(was.Host, now, float64(was.Measured))
	}
	known[key] = hostEntry{now, was.Measured + 1, ratesVersion}
	_ = writeCache(cache, known) // it is measured again then
	return now, nil
}

// combineMeasurements joins what k measurements said with a further one. Its spread is that
// between the measurements too, not only within them.
func combineMeasurements(was, now perfmodel.Host, k float64) perfmodel.Host {
	mean := func(a, b float64) float64 { return math.Exp((k*math.Log(a) + math.Log(b)) / (k + 1)) }
	apart := 0.0
	for i, l := range was.Levels {
		n := &now.Levels[i]
		apart += (math.Pow(math.Log(n.Latency/l.Latency), 2) +
			math.Pow(math.Log(n.InOrder/l.InOrder), 2)) / float64(2*len(was.Levels))
		n.Latency, n.InOrder, n.Written = mean(l.Latency, n.Latency), mean(l.InOrder, n.InOrder), mean(l.Written, n.Written)
		n.Beside, n.BesideWritten = (k*l.Beside+n.Beside)/(k+1), (k*l.BesideWritten+n.BesideWritten)/(k+1)
	}
	now.Fault = mean(was.Fault, now.Fault)
	now.Spread = math.Sqrt((k*was.Spread*was.Spread+now.Spread*now.Spread)/(k+1) + apart*k/((k+1)*(k+1)))
	now.Operations, now.Flops = max(was.Operations, now.Operations), max(was.Flops, now.Flops)
	now.Speed = max(was.Speed, now.Speed)
	return now
}
