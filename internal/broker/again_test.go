package broker_test

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/agent/wire"
	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/jobfile"
)

func TestAProgramThatFailsIsStartedAgainIfItsUserWants(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{Retries: 2, RetryOn: []string{jobfile.RetryFailed}})
	a := g.next()
	a.run()
	a.say(wire.Message{Kind: wire.Checkpoint, Saved: &wire.Saved{Method: "signal", Work: "w"}})
	a.end(137)
	b := g.next()
	if len(b.Saved) != 1 {
		t.Errorf("it is to continue from %+v", b.Saved)
	}
	b.run()
	b.end(1)
	c := g.next()
	c.run()
	c.end(3) // often enough
	if v := g.until(id, core.Failed); v.Code != 3 {
		t.Errorf("it is %+v", v.Job)
	}
}
