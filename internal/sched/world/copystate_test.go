package world

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// manyEvents are events that a world takes, one after the other.
func manyEvents(t *testing.T, spec Spec, seed uint64) []core.Event {
	random := rand.New(rand.NewPCG(seed, 7))
	data := make([]byte, 4000)
	for k := range data {
		data[k] = byte(random.Uint32())
	}
	w := New(spec)
	var taken []core.Event
	for s := (&source{data}); len(s.data) > 0; {
		ev := s.event(w)
		if w.ApplyEvent(&ev) != nil {
			w = replay(t, spec, taken)
			continue
		}
		taken = append(taken, ev)
	}
	return taken
}

// A state that is copied a job at a time, while jobs come, change and end, is that of
// the moment at which the copy is finished.
func TestAStateCopiedWhileTheWorldGoesOnIsThatOfTheEnd(t *testing.T) {
	copies, late := 0, 0
	for seed := range uint64(20) {
		spec := testSpec(10, 70)
		w := New(spec)
		random := rand.New(rand.NewPCG(seed, 8))
		var copying *StateCopying
		for _, ev := range manyEvents(t, spec, seed) {
			if copying == nil {
				copying = w.BeginCopy()
			}
			copying.CopyJobs(random.IntN(2))
			if err := w.ApplyEvent(&ev); err != nil {
				t.Fatal(err)
			}
			if random.IntN(8) > 0 {
				continue
			}
			late += len(copying.changed)
			got, want := copying.FinishCopy().arrangeShot(), w.newCopying().FinishCopy().arrangeShot()
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("copied in pieces\n%+v\nat once\n%+v", got, want)
			}
			copying = nil
			copies++
		}
	}
	if copies < 100 || late < 100 {
		t.Errorf("%d copies with %d changes were compared", copies, late)
	}
}
