package broker

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/live/store/memory"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// Whatever the engine may want is carried out or answered, never dropped in
// silence; one that nobody knows is complained about.
func TestEveryCommandOfTheEngineIsSeenTo(t *testing.T) {
	var log bytes.Buffer
	two := []Cluster{{Name: "a", Driver: driver.Unreachable{}, Hosts: []world.HostSpec{{Procs: 4, Speed: 1}}},
		{Name: "b", Driver: driver.Unreachable{}, Hosts: []world.HostSpec{{Procs: 4, Speed: 1}}}}
	b, err := Open(t.Context(), Options{State: t.TempDir(), Store: memory.New(), Engine: engine.DefaultConfig(),
		Clock: clock.RealClock(), Clusters: two,
		Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer b.cancel()
	known := 0
	for kind := core.CommandKind(1); ; kind++ {
		b.jobs[7] = newJob(store.Job{ID: 7})
		turn := b.newTurn()
		turn.handleCommand(core.Command{Kind: kind, Job: 7, Epoch: 1, N: -1, Serial: 1})
		complained := strings.Contains(log.String(), "nobody carries out")
		if kind.String() == "unknown" {
			if !complained {
				t.Error("a command that is not known is dropped without a word")
			}
			break
		}
		known++
		if complained {
			t.Errorf("%s is not carried out", kind)
		}
		if kind != core.Claim && len(turn.then) == 0 { // one part claims with its start
			t.Errorf("%s: nothing follows from it", kind)
		}
		log.Reset()
	}
	if known < 6 {
		t.Errorf("only %d commands are known", known)
	}
}
