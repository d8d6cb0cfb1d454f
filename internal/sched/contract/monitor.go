package contract

import (
	"fmt"
	"math"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Monitor watches one attempt of a program.
type Monitor struct {
	History
	rule         Rule
	lower, upper float64
	promised     float64 // seconds of the whole program
	done         float64 // at the end of the last phase
	isUnsettled  bool    // a violation was found while the level still changed
}

// New watches a program of which so many seconds were promised in all, and which has done a part of it already.
func New(c *core.Contract, promised, done float64) (*Monitor, error) {
	rule, err := NewRule(c)
	if err != nil {
		return nil, err
	}
	m := &Monitor{rule: rule, lower: c.Lower, upper: c.Upper, promised: promised, done: done}
	if m.lower == 0 {
		m.lower = DefaultLower
	}
	if m.upper == 0 {
		m.upper = DefaultUpper
	}
	if !(promised > 0) || math.IsInf(promised, 1) || !(m.lower > 0 && m.lower < m.upper) || !(done >= 0 && done <= 1) {
		return nil, fmt.Errorf("a contract of %g s within %g and %g, %g of it done", promised, m.lower, m.upper, done)
	}
	return m, nil
}

// Limits are the present ones.
func (m *Monitor) Limits() (lower, upper float64) { return m.lower, m.upper }

// Promise is how many seconds were promised of the whole program.
func (m *Monitor) Promise() float64 { return m.promised }

// Done is the part of the program that was finished at the end of the last phase.
func (m *Monitor) Done() float64 { return m.done }

// HasRatios reports whether a phase has ended.
func (m *Monitor) HasRatios() bool { return m.count > 0 }

// Observe takes in that the part done of the program is finished now, which took so many seconds since the last
// phase. A program that went back, or took no time, says nothing of its speed.
func (m *Monitor) Observe(done, seconds float64) Finding {
	part := done - m.done
	if !(part > 0) || !(seconds > 0) || !(done <= 1) || math.IsInf(seconds, 1) {
		m.done = min(max(0, done), 1)
		return Kept
	}
	m.done = done
	m.addRatio(Point{Done: done, Ratio: seconds / (m.promised * part)})
	switch {
	case m.rule.IsAbove(&m.History, m.upper):
		return m.settleViolation()
	case m.rule.IsBelow(&m.History, m.lower):
		m.isUnsettled = false
		return m.lowerLimits()
	}
	m.isUnsettled = false
	return Kept
}

// settleViolation waits for one more phase where the ratio of the last two differs much: the hosts changed within one
// of them, and what it says of the time that is left is neither here nor there.
func (m *Monitor) settleViolation() Finding {
	if _, alike := m.Level(); alike == 1 && m.count > 1 && !m.isUnsettled {
		m.isUnsettled = true
		return Kept
	}
	m.isUnsettled = false
	return Violated
}

// Refused tells that nothing is done about a violation: the limit goes to where the program is now.
func (m *Monitor) Refused() {
	up := max(m.upper, m.Last(), m.Average())
	if level, known := m.presentLevel(); known {
		up = max(up, level)
	}
	m.upper = up * noiseRoom
}

// noiseRoom is the room that a raised limit leaves, so that noise alone does not break the contract again.
const noiseRoom = 1.02

// lowerLimits brings both limits to where a program is that is faster than promised: what it has shown it can do is
// what it is held to.
func (m *Monitor) lowerLimits() Finding {
	level := max(m.Last(), m.Average())
	if level >= m.lower { // by another rule than the average
		level = m.Last()
	}
	if level >= m.lower {
		return Kept
	}
	m.upper *= level / m.lower
	m.lower = level
	return Lowered
}

// Left is how many seconds the rest will take where it runs: what was promised, corrected by the ratio at which it
// runs now, of the part that is not done.
func (m *Monitor) Left() float64 {
	ratio := 1.0
	if m.HasRatios() {
		ratio, _ = m.Level()
	}
	return m.promised * ratio * (1 - m.done)
}

// Bias is by which factor promises were wrong on hosts that were as they were promised for.
func (m *Monitor) Bias() float64 {
	ratio, _, _ := m.beforeChange()
	return ratio
}

// Evidence is how far phases were from what was predicted for them, bias aside, and how many say so.
func (m *Monitor) Evidence() (spread float64, phases int) {
	_, spread, phases = m.beforeChange()
	return spread, phases
}

// beforeChange is how predictions held before the hosts changed, or so far, if they have not and the contract is kept.
func (m *Monitor) beforeChange() (ratio, spread float64, phases int) {
	if !m.HasRatios() {
		return 1, 0, 0
	}
	ratio, spread, phases = m.Before()
	level, alike := m.Level()
	if phases > 0 || alike < minSegment || level < m.lower || level > m.upper {
		return ratio, spread, phases
	}
	mean, variance := logMoments(m.recent[len(m.recent)-alike:])
	return math.Exp(mean), math.Sqrt(variance), alike
}
