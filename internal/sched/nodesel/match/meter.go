package match

import "math"

// Answer is what a matcher says of one graph.
type Answer int

const (
	Unknown Answer = iota // the effort did not suffice
	No
	Yes
)

// Meter limits the effort of a search: in steps, so that results do not depend
// on the machine, and by the caller's word for when time is up.
type Meter struct {
	left    int
	stop    func() bool
	sinceIt int  // steps since stop was last asked
	stopped bool // stop said so; it stays true
}

// askEvery is how many steps of effort go between two questions to stop.
const askEvery = 64

// NewMeter is one without a limit but the caller's word; nil: never.
func NewMeter(stop func() bool) *Meter { return &Meter{left: math.MaxInt, stop: stop} }

// SpendSteps takes steps of effort and reports whether there were any left.
func (m *Meter) SpendSteps(steps int) bool {
	m.left -= steps
	if m.sinceIt += steps; m.sinceIt >= askEvery {
		m.sinceIt = 0
		m.IsOver()
	}
	return m.left >= 0 && !m.stopped
}

// isSpent reports whether there is no effort left.
func (m *Meter) isSpent() bool { return m.left < 0 || m.stopped }

// IsOver reports whether the caller wants an end.
func (m *Meter) IsOver() bool {
	m.stopped = m.stopped || m.stop != nil && m.stop()
	return m.stopped
}
