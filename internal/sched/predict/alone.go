package predict

import "math"

// phases follows how a program spends its wall time: computing, waiting for a
// processor that others have, or waiting for something else (disks, the network, a
// clock). What it would have taken with its processors for itself is the first and the
// last; only the first depends on the speed and the share of processors.
type phases struct {
	busy float64 // seconds in which the job computed so far, on the reference host at full share
	idle float64 // seconds in which it waited for something else than a processor
	raw  float64 // busy, not corrected for how slow the processor was

	granted series // part of the time it was ready to run in which it had a processor
	drift   drift
	last    float64 // granted in the last interval in which it was ready

	delay, delaySeen float64 // seconds delayed for each CPU second lately, and CPU seconds seen
	lastIdle         float64 // of the last interval

	// Gathered until it is enough for a sample of granted.
	done, ready float64 // seconds it computed at the usual speed, and was ready to
	doneAll     float64 // since the attempt began
	readyAll    float64
}

// enoughReady is the part of an interval for which a program must have been ready to
// run to tell which share of the processors it is granted.
const enoughReady = 0.25

func newPhases(cfg *Config) phases {
	return phases{busy: clampPositive(cfg.BusyUsed), raw: clampPositive(cfg.BusyRaw), idle: clampPositive(cfg.IdleUsed),
		last: 1, granted: series{grain: shareGrain, top: 1}}
}

// addInterval takes the seconds since the sample before, the CPU seconds used in them by all
// threads, and of the threads that were asked how long they ran and were delayed.
func (p *phases) addInterval(dt, cpu, ran, delayed, slow, speed, procs float64) {
	// Threads that could not be asked, as those that have ended, were delayed as the
	// others lately.
	seen := min(ran, cpu)
	if ran > 0 {
		p.delay += (delayed/ran - p.delay) * min(1, ran/(p.delaySeen+ran)+delayKeep)
		p.delaySeen += ran
		delayed *= seen / ran
	}
	ready := seen + delayed + (cpu-seen)*(1+p.delay)
	// Threads that wait for each other's processors are not delayed by others.
	if wanted := min(ready, procs*dt); wanted > 0 {
		p.last = min(cpu/wanted, 1)
	}
	// Several threads that are ready at once make the program no busier than busy. But
	// what a thread waited is counted when it gets a processor: some of it may be of the
	// interval before.
	part := min(ready/dt, 1)
	late := min(max(ready-dt, 0), p.lastIdle)
	p.lastIdle = (1 - part) * dt
	p.idle += p.lastIdle - late
	did := part * p.last * dt / slow
	p.busy += did * speed
	p.raw += did * slow * speed
	p.done += did
	p.ready += part*dt + late
}

// delayKeep is how much the newest of the delays count at least.
const delayKeep = 0.2

// takeSample hands on what was gathered, once it is enough for one.
func (p *phases) takeSample(step float64) (by shift, changed bool) {
	if p.ready < max(enoughReady*step, 1e-3) {
		return shift{}, false
	}
	p.doneAll += p.done
	p.readyAll += p.ready
	by, changed = p.granted.addRate(p.done/p.ready, p.ready)
	p.drift.markProgress(p.readyAll, p.doneAll, p.granted.whole.mean)
	p.done, p.ready = 0, 0
	return by, changed
}

// shareOutlook of the granted share; false if it has not been seen.
func (p *phases) shareOutlook() (outlook, bool) {
	if p.granted.total.n == 0 {
		return outlook{}, false
	}
	return p.granted.makeOutlook(p.granted.total.dur / p.granted.total.n), true
}

// waitingLeft is which part of what is left, alone on the reference host, the program
// will wait.
func (w *Watch) waitingLeft() float64 {
	all := w.cfg.Alone.Median()
	idle := max(w.cfg.Waiting*all-w.phases.idle, 0)
	busy := max((1-w.cfg.Waiting)*all-w.phases.busy, 0)
	if !(idle+busy > 0) {
		return w.cfg.Waiting
	}
	return idle / (idle + busy)
}

// aloneLeft fills in the seconds that are left if the job has the processors of the
// reference host for itself.
func (w *Watch) aloneLeft(f *futures) { needLeft(w.cfg.Alone, w.phases.busy+w.phases.idle, f) }

// playAlone turns the seconds left here at full share into those that it takes: what
// the program waits takes as long as it takes.
func (w *Watch) playAlone(f *futures) {
	waiting := w.waitingHere()
	if waiting == 1 {
		return
	}
	idle := *f
	idle.scaleBy(waiting)
	f.scaleBy(1 - waiting)
	if o, seen := w.phases.shareOutlook(); 1-waiting < rarelyBusy {
		f.scaleBy((w.phases.readyAll + fewReady) / (w.phases.doneAll + fewReady))
	} else if seen {
		o.playFutures(f)
	} else {
		o := unseenOutlook(1, 1, f[nFutures/2])
		for i := range f {
			f[i] = o.futureSeconds(i, f[i], 1)
		}
	}
	for i := range f {
		f[i] += idle[i]
	}
}

const (
	// rarelyBusy is the part of its time that a program must compute to tell how the
	// share of the processors changes. Of others the mean counts.
	rarelyBusy = 0.1
	// fewReady seconds count as seen at full share.
	fewReady = 0.02
)

// waitingHere is waitingLeft on this host, where computing takes longer or shorter.
func (w *Watch) waitingHere() float64 {
	waiting := w.waitingLeft()
	return waiting / (waiting + (1-waiting)/w.cfg.Speed)
}

// BusyAndIdle is how the whole job spent its time so far: the seconds it computed, as on
// the reference host at full share but as slow as the processor was, and those it waited
// for something else than a processor.
func (w *Watch) BusyAndIdle() (busy, idle float64) { return w.phases.raw, w.phases.idle }

// WaitingWork is the part of Work in which the program waits for something else than a
// processor.
func (w *Watch) WaitingWork() float64 {
	if w.model != byTime {
		return 0
	}
	return w.waitingLeft()
}

// ShareChanges is how often the share of the processors changed so far.
func (w *Watch) ShareChanges() int {
	return int(math.Max(w.share.changes, w.phases.granted.changes))
}
