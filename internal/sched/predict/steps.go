package predict

import "math"

// steps follows the progress that a program reports, and what a step costs in
// CPU and in wall time. Both are counted from the first report on: what came
// before it is the start, of which no more is to come.
type steps struct {
	known      bool
	total      float64
	now        float64
	now0       float64 // steps,
	cpu0, sec0 float64 // reference CPU seconds and wall seconds where counting began
	cpu, sec   float64 // when the step last advanced
	count      float64 // reports of an advance
	byCPU      drift   // cost in CPU seconds of a step
	bySec      drift   // cost in wall seconds of a step
}

// fewSteps is how many reports say nothing yet of what comes.
const fewSteps = 3

// addReport takes a report, given the CPU seconds of the job and the wall seconds of
// the attempt. It tells whether the program has advanced.
func (p *steps) addReport(step, total, cpu, sec float64) bool {
	if !(total > 0) || !(step >= 0) || math.IsInf(total, 0) || step > total {
		return false
	}
	if !p.known || step < p.now { // or it began again
		again := p.known
		*p = steps{known: true, total: total, now: step, now0: step, cpu0: cpu, sec0: sec, cpu: cpu, sec: sec}
		return again
	}
	p.total = total
	if step == p.now {
		return false
	}
	p.now, p.cpu, p.sec = step, cpu, sec
	p.count++
	if done := p.now - p.now0; p.count >= fewSteps {
		p.byCPU.markProgress(done, p.cpu-p.cpu0, (p.cpu-p.cpu0)/done)
		p.bySec.markProgress(done, p.sec-p.sec0, (p.sec-p.sec0)/done)
	}
	return true
}

// canPredict is true when the steps can predict.
func (p *steps) canPredict() bool { return p.known && p.count >= fewSteps && p.now > p.now0 }

// byClock is true if a step takes about the same time, whatever CPU time it
// gets: the program waits for something else.
func (p *steps) byClock() bool { return p.bySec.perFold() < clearly*p.byCPU.perFold() }

// cpuLeft is the median of the CPU seconds left, and the relative deviation.
func (p *steps) cpuLeft(used float64) (left, sigma float64) {
	cost := (p.cpu - p.cpu0) / (p.now - p.now0)
	todo := p.total - p.now
	// Part of the next step has been done since the last report.
	left = todo*cost - min(max(used-p.cpu, 0), cost*min(todo, 1))
	return left, p.remainingSigma(&p.byCPU)
}

// remainingSigma is the relative deviation of what is left: the cost of all steps
// drifts as it did so far until they are done, and a report may be off by half
// a step.
func (p *steps) remainingSigma(d *drift) float64 {
	done, all := p.now-p.now0, p.total-p.now0
	part := max((p.total-p.now)/all, 1e-3)
	cost := d.perFold() * math.Log(all/done) / (part * part)
	half := 0.5 / done
	return math.Sqrt(cost + half*half)
}
