package predict

import "math"

// phases follows how a program spends its wall time: computing, waiting for a
// processor that others have, or waiting for something else (disks, the network, a
// clock). What it would have taken with its processors for itself is the first and the
// last; only the first depends on the speed and the share of processors.
type phases struct {
	busy float64 // seconds in which the job computed so far, on the reference host at full share
	idle float64 // seconds in which it waited for something else than a processor

	granted series // part of the time it was ready to run in which it had a processor
	drift   drift
	last    float64 // granted in the last interval in which it was ready

	// Gathered until it is enough for a sample of granted.
	done, ready float64 // seconds it computed at the usual speed, and was ready to
	doneAll     float64 // since the attempt began
	readyAll    float64
}

// enoughReady is the part of an interval for which a program must have been ready to
// run to tell which share of the processors it is granted.
const enoughReady = 0.25

func newPhases(cfg *Config) phases {
	return phases{busy: positive(cfg.BusyUsed), idle: positive(cfg.IdleUsed), last: 1, granted: series{grain: shareGrain, top: 1}}
}

// add takes the seconds since the sample before, the CPU seconds used in them by all
// threads, and of the threads that were asked how long they ran and were delayed.
func (p *phases) add(dt, cpu, ran, delayed, slow, speed float64) {
	ready := cpu + delayed
	if ran > 0 {
		ready = cpu * (1 + delayed/ran)
	}
	if ready > 0 {
		p.last = min(cpu/ready, 1)
	}
	// Several threads that are ready at once make the program no busier than busy.
	part := min(ready/dt, 1)
	p.idle += (1 - part) * dt
	did := part * p.last * dt / slow
	p.busy += did * speed
	p.done += did
	p.ready += part * dt
}

// sample hands on what was gathered, once it is enough for one.
func (p *phases) sample(step float64) (by shift, changed bool) {
	if p.ready < max(enoughReady*step, 1e-3) {
		return shift{}, false
	}
	p.doneAll += p.done
	p.readyAll += p.ready
	by, changed = p.granted.add(p.done/p.ready, p.ready)
	p.drift.mark(p.readyAll, p.doneAll, p.granted.whole.mean)
	p.done, p.ready = 0, 0
	return by, changed
}

// outlook of the granted share; false if it has not been seen.
func (p *phases) outlook() (outlook, bool) {
	if p.granted.total.n == 0 {
		return outlook{}, false
	}
	return p.granted.outlook(p.granted.total.dur / p.granted.total.n), true
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
	idle.scale(waiting)
	f.scale(1 - waiting)
	if o, seen := w.phases.outlook(); seen {
		o.play(f)
	} else {
		o := unseenOutlook(1, 1, f[nFutures/2])
		for i := range f {
			f[i] = o.time(i, f[i], 1)
		}
	}
	for i := range f {
		f[i] += idle[i]
	}
}

// waitingHere is waitingLeft on this host, where computing takes longer or shorter.
func (w *Watch) waitingHere() float64 {
	waiting := w.waitingLeft()
	return waiting / (waiting + (1-waiting)/w.cfg.Speed)
}

// Alone is how the whole job spent its time so far: the seconds it computed, as on
// the reference host at full share, and those it waited for something else than a
// processor.
func (w *Watch) Alone() (busy, idle float64) { return w.phases.busy, w.phases.idle }

// Waiting is the part of Work in which the program waits for something else than a
// processor.
func (w *Watch) Waiting() float64 {
	if w.model != byTime {
		return 0
	}
	return w.waitingLeft()
}

// Changes is how often the share of the processors changed so far.
func (w *Watch) Changes() int {
	return int(math.Max(w.share.changes, w.phases.granted.changes))
}
