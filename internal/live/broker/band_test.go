package broker_test

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestAnAttemptKnowsHowPredictionsOfEarlierRunsHeld(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{Argv: []string{"prog", "x"}})
	a := g.next()
	if a.Band.Low != 1 || a.Band.High != 1 {
		t.Errorf("nothing was predicted, and bands are stretched by %+v", a.Band)
	}
	a.run()
	a.say(wire.Message{Kind: wire.Ended, State: &wire.Vitals{CPU: 1, Used: 1, Wall: 1.5, Busy: 1, Idle: 0.5, Chance: -1,
		Deviations: []float64{3, 0.5, -0.5, 0.1}}})
	if v := g.until(id, core.Done); v.Waiting != 0.5 {
		t.Errorf("it waited %v of its 1.5 s", v.Waiting)
	}
	g.restart()
	g.submit(jobfile.Job{Argv: []string{"prog", "x"}})
	same := g.next()
	g.submit(jobfile.Job{Argv: []string{"other"}})
	other := g.next()
	if !(same.Band.High > other.Band.High && other.Band.High > 1 && same.Band.Low < 1) {
		t.Errorf("one end in four was late: the bands of the program are stretched by %+v, those of others by %+v", same.Band,
			other.Band)
	}
}
