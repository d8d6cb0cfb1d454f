package agent

import (
	"context"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/calibrate"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
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

// pulseOf is how many times longer than on the reference host a fixed piece of work
// takes on a processor that the attempt runs on now.
func pulseOf(mark string) (float64, bool) {
	cpu, ok := proctree.TreeOf(mark).BusiestProcessor()
	if !ok {
		return 0, false
	}
	p, err := calibrate.MeasurePulse(cpu)
	return p, err == nil
}

// slowdownNow is how many times longer than usual the program takes for the same, as last
// felt.
func (p *pulse) slowdownNow() float64 { return p.pace.SlowFactor(p.now) }

// addWork counts what the program did at the pace last felt, in reference seconds.
func (p *pulse) addWork(work float64) { p.mean.AddPulse(p.now, work) }

// measurePulse finds out what the time to come is worth. It may have to wait for the
// processor, so it is done beside all else.
func (l *life) measurePulse() {
	p := &l.watch.pulse
	if l.around.pulse == nil || p.busy || p.felt > 0 && l.sinceBirth()-p.felt < betweenPulses {
		return
	}
	p.busy, p.felt = true, l.sinceBirth()
	mark := l.attempt.Mark
	l.runInBackground(func(context.Context) (func(), func()) {
		felt, ok := l.around.pulse(mark)
		return func() {
			p.busy = false
			if ok {
				p.now = felt * p.speed
			}
		}, nil
	})
}
