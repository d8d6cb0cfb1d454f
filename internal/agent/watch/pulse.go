package watch

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/host/calibrate"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// betweenPulses keeps what feeling the pulse costs near a thousandth of a
// processor however often the program is looked at.
const betweenPulses = 90 * time.Millisecond

// pulse follows how slow the processors are that the program runs on: who shares
// the core with it, in another virtual machine perhaps, takes what no share of the
// CPU time shows.
type pulse struct {
	pace  wire.Pace
	speed float64
	mean  calibrate.Slower // of the whole job, by its CPU time
	now   float64          // relative to the reference host and its speed; 0: not known
	felt  time.Duration    // when it was last felt
	busy  bool
}

// slowdownNow is how many times longer than usual the program takes for the same, as last
// felt.
func (p *pulse) slowdownNow() float64 { return p.pace.SlowFactor(p.now) }

// addWork counts what the program did at the pace last felt, in reference seconds.
func (p *pulse) addWork(work float64) { p.mean.AddPulse(p.now, work) }

// BeginPulse says whether the pulse is to be measured now; then SetPulse tells the outcome.
func (w *Watch) BeginPulse(now time.Duration) bool {
	p := &w.pulse
	if p.busy || p.felt > 0 && now-p.felt < betweenPulses {
		return false
	}
	p.busy, p.felt = true, now
	return true
}

// SetPulse notes how many times longer than on the reference host a fixed piece of work
// takes; not ok: it could not be measured.
func (w *Watch) SetPulse(felt float64, ok bool) {
	w.pulse.busy = false
	if ok {
		w.pulse.now = felt * w.pulse.speed
	}
}

// MeanPulse is how slow the processors were, over the whole job.
func (w *Watch) MeanPulse() float64 { return w.pulse.mean.MeanPulse() }
