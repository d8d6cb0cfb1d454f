package broker_test

import (
	"slices"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// How far a job has come whose size may change is told to the engine, which learns from it how the program scales: at
// every hundredth of its work, not more often. Of others nobody wants to know.
func TestTheEngineIsToldHowFarMalleableJobsHaveCome(t *testing.T) {
	g := newGrid(t)
	for _, c := range []struct {
		kind core.Kind
		want []float64
	}{{core.Moldable, []float64{0.1, 0.2, 1}}, {core.Rigid, nil}} {
		id := g.submit(jobfile.Job{Kind: c.kind})
		a := g.next()
		a.run()
		a.mu.Lock()
		for _, done := range []float64{-1, 0, 0.1, 0.105, 0.2, 0.15, 1} {
			a.write(wire.Message{Kind: wire.Status, State: &wire.Vitals{Done: done, Chance: -1}})
		}
		a.mu.Unlock()
		a.end(0)
		g.until(id, core.Done)
		var told []float64
		err := g.store.ReadLog(t.Context(), func(part *store.LogPart) error {
			for i := range part.Events {
				if ev := &part.Events[i]; ev.Kind == core.JobProgressed && ev.Job == id {
					told = append(told, ev.Done)
				}
			}
			return nil
		})
		if err != nil || !slices.Equal(told, c.want) {
			t.Errorf("%v: told %v, want %v (%v)", c.kind, told, c.want, err)
		}
	}
}
