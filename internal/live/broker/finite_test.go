package broker

import (
	"log/slog"
	"math"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/live/store/memory"
	"github.com/godwit-hpc/godwit/internal/live/store/sqlite"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// One record with a number that cannot be written down must not end the broker of all.
func TestANumberThatCannotBeStoredIsLeftOut(t *testing.T) {
	file, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	for name, s := range map[string]store.Store{"memory": memory.New(), "sqlite": file} {
		b := &Broker{opt: Options{Store: s, Log: slog.New(slog.DiscardHandler)}}
		batch := &store.Batch{
			Jobs: []store.Job{{ID: 1, Unique: "a", CPU: math.Inf(1), Wall: 3}, {ID: 2, Unique: "b", CPU: 2}},
			Entries: []store.Entry{{Job: 1, Entry: wire.Entry{Kind: "end", Choice: "done",
				Inputs: map[string]any{"cpu_s": math.NaN(), "wall_s": 3.0, "text": "x"}}}},
			Runs: []history.Run{{Job: 1, CPU: math.Inf(-1)}},
		}
		for i := range batch.Jobs {
			batch.Jobs[i].Spec = &jobfile.Job{Argv: []string{"true"}}
		}
		if err := b.storeBatch(t.Context(), batch); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for ref, want := range map[string]float64{"1": 0, "2": 2} {
			if rec, err := s.FindJob(t.Context(), ref); err != nil || rec.CPU != want {
				t.Errorf("%s: job %s: %+v, %v", name, ref, rec, err)
			}
		}
		told, err := s.ListEntries(t.Context(), 1)
		if err != nil || len(told) != 1 || len(told[0].Inputs) != 2 || told[0].Inputs["wall_s"] != 3.0 {
			t.Errorf("%s: explained is %+v, %v", name, told, err)
		}
	}
}
