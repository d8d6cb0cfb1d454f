// Package calibration judges predictions of when programs end: how far they are
// off and how often their 90 % bands hold, by the same rules for simulated runs and
// for live ones; and it simulates runs under recorded and generated loads.
package calibration

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Moments are the parts of a run that are over when its predictions are judged.
var Moments = []float64{1. / 3, 1. / 2, 2. / 3, 5. / 6}

// Judged is one prediction of the seconds that were left of a run, and what came.
type Judged struct {
	Run       uint64
	Load      string
	Moment    float64 // part of the run that was over
	Actual    float64
	AsNow     float64 // by the median need and the share of the last interval
	Low, High float64 // of the 90 % band
	Mid       float64
}

// Error is how far the prediction was off, as a part of what was left.
func (j *Judged) Error() float64 { return math.Abs(j.Mid/j.Actual - 1) }

// Due tells which moments of a run that ends at end have come, each once, at the
// first prediction after it.
type Due struct {
	End  float64
	next int
}

// MomentAt says whether a prediction made then is to be judged, and as which moment's.
func (d *Due) MomentAt(at float64) (moment float64, ok bool) {
	if d.next == len(Moments) || at < Moments[d.next]*d.End || at >= d.End {
		return 0, false
	}
	d.next++
	return Moments[d.next-1], true
}

// Verdict sums up predictions.
type Verdict struct {
	Runs, N       int
	Holds         float64    // part of the 90 % bands
	Deviation     float64    // standard error of Holds, runs being independent
	Early, Late   float64    // part of the ends before and after the band
	Middle, Off9  float64    // median and 0.9 quantile of the absolute relative error
	MiddleBetween [2]float64 // 95 % interval of the median, by drawing runs again
	AsNow         float64    // median error of the median need by the last share
	Width         float64    // median width of the band, relative to what came
}

// SumUp judges predictions together.
func SumUp(all []Judged) Verdict {
	v := Verdict{N: len(all)}
	if v.N == 0 {
		return v
	}
	var asNow, widths []float64
	var runs []uint64
	counts, errs := map[uint64][2]float64{}, map[uint64][]float64{}
	for i := range all {
		j := &all[i]
		run, seen := counts[j.Run]
		if !seen {
			runs = append(runs, j.Run)
		}
		run[0]++
		switch {
		case j.Actual < j.Low:
			v.Early++
		case j.Actual > j.High:
			v.Late++
		default:
			v.Holds++
			run[1]++
		}
		counts[j.Run] = run
		errs[j.Run] = append(errs[j.Run], j.Error())
		asNow = append(asNow, math.Abs(j.AsNow/j.Actual-1))
		widths = append(widths, (j.High-j.Low)/j.Actual)
	}
	n := float64(v.N)
	v.Runs, v.Holds, v.Early, v.Late = len(runs), v.Holds/n, v.Early/n, v.Late/n
	var off []float64
	for _, run := range runs {
		d := counts[run][1] - v.Holds*counts[run][0]
		v.Deviation += d * d
		off = append(off, errs[run]...)
	}
	v.Deviation = math.Sqrt(v.Deviation) / n
	v.Middle, v.Off9 = quantileOf(off, 0.5), quantileOf(off, 0.9)
	v.MiddleBetween = bootstrapInterval(runs, errs)
	v.AsNow, v.Width = quantileOf(asNow, 0.5), quantileOf(widths, 0.5)
	return v
}

// bootstrapInterval is the interval in which 95 % of the medians lie when the runs are drawn
// again from themselves: predictions of one run depend on each other.
func bootstrapInterval(runs []uint64, errs map[uint64][]float64) [2]float64 {
	const draws = 400
	r := rand.New(rand.NewPCG(uint64(len(runs)), 7))
	medians := make([]float64, draws)
	var drawn []float64
	for i := range medians {
		drawn = drawn[:0]
		for range runs {
			drawn = append(drawn, errs[runs[r.IntN(len(runs))]]...)
		}
		medians[i] = quantileOf(drawn, 0.5)
	}
	return [2]float64{quantileOf(medians, 0.025), quantileOf(medians, 0.975)}
}

func quantileOf(xs []float64, p float64) float64 {
	slices.Sort(xs)
	return xs[int(p*float64(len(xs)-1)+0.5)]
}

func (v Verdict) String() string {
	return fmt.Sprintf("bands hold %5.1f ± %.1f %% (early %.1f, late %.1f, width %3.0f %%), error: median %4.1f %%, 0.9 "+
		"quantile %3.0f %%, by the last share %4.1f %%",
		100*v.Holds, 100*v.Deviation, 100*v.Early, 100*v.Late, 100*v.Width, 100*v.Middle, 100*v.Off9, 100*v.AsNow)
}

// SplitByLoad judges predictions by load, those under which the share changes by moment
// and together: the last.
func SplitByLoad(all []Judged, steady string) (names []string, verdicts []Verdict) {
	add := func(name string, ok func(j *Judged) bool) {
		var some []Judged
		for i := range all {
			if ok(&all[i]) {
				some = append(some, all[i])
			}
		}
		if len(some) > 0 {
			names, verdicts = append(names, name), append(verdicts, SumUp(some))
		}
	}
	var loads []string
	for i := range all {
		if !slices.Contains(loads, all[i].Load) {
			loads = append(loads, all[i].Load)
		}
	}
	for _, load := range loads {
		add(load, func(j *Judged) bool { return j.Load == load })
	}
	for _, m := range Moments {
		add(fmt.Sprintf("changing, %.0f %% over", 100*m), func(j *Judged) bool { return j.Load != steady && j.Moment == m })
	}
	add(Changing, func(j *Judged) bool { return j.Load != steady })
	return names, verdicts
}

// Changing is the name of all predictions under loads that change.
const Changing = "changing, all"
