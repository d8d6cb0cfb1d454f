package hosthelper

import "time"

// shareInterval is the time over which the share of a host's processors is taken.
const shareInterval = time.Second

// ShareMeter says which part of its processors on a host the attempt uses now.
type ShareMeter struct {
	procs int
	cpu   time.Duration // when that was last looked at,
	at    time.Duration
	begun bool
	share float64 // -1: not known
}

// NewShareMeter is one for a host with so many processors of the attempt.
func NewShareMeter(procs int) *ShareMeter { return &ShareMeter{procs: max(procs, 1), share: -1} }

// AddSample takes the CPU time that was used there until now.
func (m *ShareMeter) AddSample(now, cpu time.Duration) {
	elapsed := now - m.at
	switch {
	case !m.begun:
		m.begun = true
	case elapsed < shareInterval:
		return
	default:
		m.share = float64(max(cpu-m.cpu, 0)) / float64(elapsed) / float64(m.procs)
	}
	m.cpu, m.at = cpu, now
}

// Share is that, from 0 to about 1; -1: not known yet.
func (m *ShareMeter) Share() float64 { return m.share }
