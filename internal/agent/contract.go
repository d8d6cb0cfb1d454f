package agent

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/agent/watch"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/contract"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// contractWatch holds the program to what was promised of it. A phase is a part of the work, by what the program says
// of its progress, or else by the CPU time that it used and is expected to need.
type contractWatch struct {
	monitor *contract.Monitor
	from    time.Duration // of the phase that goes on, on life's clock
}

// phasePart is the least part of the work that makes a phase.
const phasePart = 0.02

// samplesPerPhase is how many samples a phase takes at least: what is shorter says more of how often we look than of
// the program.
const samplesPerPhase = 3

// beginContract begins to watch what was promised.
func (l *life) beginContract(done float64) {
	spec := l.attempt.Spec.Contract
	if spec == nil || l.attempt.Promise <= 0 {
		return
	}
	m, err := contract.New(spec, l.attempt.Promise, done)
	if err != nil {
		l.around.log.Warn("the contract is not watched", "error", err)
		return
	}
	l.promised = &contractWatch{monitor: m, from: l.activeTime()}
}

// donePart is which part of its work the program has done, as far as anybody can say.
func donePart(v *wire.Vitals) (float64, bool) {
	if v.Done >= 0 {
		return min(v.Done, 1), true
	}
	work, ok := predict.FromQuantiles(v.Work)
	if !ok || !(v.Used+work.Median() > 0) {
		return 0, false
	}
	return v.Used / (v.Used + work.Median()), true
}

// watchContract looks whether a phase has ended, and tells of a violation.
func (l *life) watchContract() {
	if l.stopping != nil {
		return
	}
	v := l.currentVitals()
	done, ok := donePart(&v)
	if !ok {
		return
	}
	if l.promised == nil {
		l.beginContract(done)
		return
	}
	p, now := l.promised, l.activeTime()
	took, part := now-p.from, done-p.monitor.Done()
	_, limit := p.monitor.Limits()
	isSlow := part > 0 && took.Seconds() > limit*l.attempt.Promise*max(part, phasePart)
	if took < samplesPerPhase*watch.SampleInterval(l.attempt) || part < phasePart && !isSlow {
		return
	}
	p.from = now
	if p.monitor.Observe(done, took.Seconds()) == contract.Violated && !l.outbox.IsWaiting(wire.Violated) {
		l.outbox.QueueMessage(wire.Message{Kind: wire.Violated, State: &v, Contract: p.state()})
	}
}

// state is how the contract is kept.
func (p *contractWatch) state() *wire.ContractState {
	m := p.monitor
	s := &wire.ContractState{Promise: m.Promise(), Done: m.Done(), Ratio: m.Last(), Average: m.Average(), Left: m.Left(),
		Bias: m.Bias()}
	s.Spread, s.Phases = m.Evidence()
	_, s.Limit = m.Limits()
	for _, x := range m.Points() {
		s.Ratios = append(s.Ratios, [2]float64{x.Done, x.Ratio})
	}
	return s
}

// raiseLimits: nothing is done about a violation.
func (l *life) raiseLimits() {
	if l.promised != nil && l.promised.monitor.HasRatios() {
		l.promised.monitor.Refused()
	}
}
