package broker_test

import (
	"fmt"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// storedOutbox is what the store holds of commands that may still have to be carried out.
func (g *grid) storedOutbox() []store.Outbound {
	g.t.Helper()
	l, err := g.store.LoadState(g.t.Context())
	if err != nil {
		g.t.Fatal(err)
	}
	return l.Outbox
}

func (g *grid) untilOutboxIsEmpty() {
	g.t.Helper()
	waitUntil(g.t, func() bool { return len(g.storedOutbox()) == 0 },
		func() string { return fmt.Sprintf("the outbox has %+v", g.storedOutbox()) })
}

// A command that was carried out is forgotten also while nothing else is written, and a broker
// that is killed before that carries it out again, which starts nothing twice.
func TestCommandsThatWereCarriedOutAreForgotten(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{})
	a := g.next()
	g.kill()
	g.up()
	g.untilOutboxIsEmpty()
	a.beConnected()
	a.run()
	a.end(0)
	g.until(id, core.Done)
	g.untilOutboxIsEmpty()
	select {
	case b := <-g.started:
		t.Errorf("job %d is started again, attempt %d", b.Job, b.Epoch)
	default:
	}
}
