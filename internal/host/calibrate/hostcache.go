package calibrate

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/perfmodel"
)

// hostEntry is what is known of the rates of one model of CPU: all measurements.
type hostEntry struct {
	Taken   []perfmodel.Host `json:"taken"`
	Version int              `json:"version"`
}

// ratesVersion changes with what is measured: what was remembered before is then
// no longer valid.
const ratesVersion = 4

// CachedHost is MeasureRates with a memory, as CachedSpeed is MeasureSpeed with one. Of the first few
// measurements the best of each rate of computing counts, since whatever disturbs
// slows down, and what is typical of the memory.
func CachedHost(ctx context.Context, cache string) (perfmodel.Host, error) {
	key := ModelName(0)
	known := map[string]hostEntry{}
	if text, err := os.ReadFile(cache); err != nil || json.Unmarshal(text, &known) != nil || known == nil {
		known = map[string]hostEntry{}
	}
	entry := known[key]
	if entry.Version != ratesVersion {
		entry = hostEntry{Version: ratesVersion}
	}
	if len(entry.Taken) < measurementsPerModel {
		now, err := MeasureRates(ctx)
		if err != nil {
			return now, err
		}
		entry.Taken = append(entry.Taken, now)
		known[key] = entry
		_ = writeCache(cache, known) // it is measured again then
	}
	return combineMeasurements(entry.Taken), nil
}

// combineMeasurements joins several measurements of one host: the best of each rate of
// computing and the median of what lines cost, as it would be if all had found the host at
// its best. The spread is that between the measurements, too, not only within them.
func combineMeasurements(list []perfmodel.Host) perfmodel.Host {
	h := list[len(list)-1]
	h.Levels = slices.Clone(h.Levels)
	list = slices.DeleteFunc(slices.Clone(list),
		func(o perfmodel.Host) bool { return len(o.Levels) != len(h.Levels) })
	var faults []float64
	within := 0.0
	for _, o := range list {
		h.Operations, h.Flops, h.Speed = max(h.Operations, o.Operations), max(h.Flops, o.Flops), max(h.Speed, o.Speed)
		faults = append(faults, o.Fault)
		within += o.Spread * o.Spread / float64(len(list))
	}
	h.Fault = medianOf(faults)
	between := 0.0
	for i := range h.Levels {
		// A host that was slow all the time took its own slowness for its best.
		values := func(of func(perfmodel.Level) float64, feels float64) (at []float64) {
			for _, o := range list {
				at = append(at, of(o.Levels[i])*math.Pow(o.Speed/h.Speed, feels))
			}
			return at
		}
		latencies := values(func(l perfmodel.Level) float64 { return l.Latency }, waitFeels)
		ordered := values(func(l perfmodel.Level) float64 { return l.InOrder }, sweepFeels)
		h.Levels[i] = perfmodel.Level{Bytes: h.Levels[i].Bytes, Latency: medianOf(latencies), InOrder: medianOf(ordered),
			TwoStreams:    medianOf(values(func(l perfmodel.Level) float64 { return l.TwoStreams }, sweepFeels)),
			FourStreams:   medianOf(values(func(l perfmodel.Level) float64 { return l.FourStreams }, sweepFeels)),
			Written:       medianOf(values(func(l perfmodel.Level) float64 { return l.Written }, sweepFeels)),
			Beside:        medianOf(values(func(l perfmodel.Level) float64 { return l.Beside }, 0)),
			BesideWritten: medianOf(values(func(l perfmodel.Level) float64 { return l.BesideWritten }, 0))}
		between += (squaresApart(latencies, h.Levels[i].Latency) + squaresApart(ordered, h.Levels[i].InOrder)) /
			float64(2*len(h.Levels))
	}
	h.Spread = math.Sqrt(within + between)
	return h
}
