package nodesel

// answer is what a matcher says of one graph.
type answer int

const (
	unknown answer = iota // the effort did not suffice
	no
	yes
)

// meter limits the effort of a search: in steps, so that results do not depend
// on the machine, and by the caller's word for when time is up.
type meter struct {
	left    int
	stop    func() bool
	sinceIt int  // steps since stop was last asked
	stopped bool // stop said so; it stays true
}

// askEvery is how many steps of effort go between two questions to stop.
const askEvery = 64

// spendSteps takes steps of effort and reports whether there were any left.
func (m *meter) spendSteps(steps int) bool {
	m.left -= steps
	if m.sinceIt += steps; m.sinceIt >= askEvery {
		m.sinceIt = 0
		m.isOver()
	}
	return m.left >= 0 && !m.stopped
}

// isSpent reports whether there is no effort left.
func (m *meter) isSpent() bool { return m.left < 0 || m.stopped }

// isOver reports whether the caller wants an end.
func (m *meter) isOver() bool {
	m.stopped = m.stopped || m.stop != nil && m.stop()
	return m.stopped
}
