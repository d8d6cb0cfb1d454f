package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// loses plays a trial in which the engine is lost now and then and made again,
// and returns its log.
func loses(tr trial, again func(r *run) (*world.World, error)) ([]byte, error) {
	r := newRun(tr)
	when := rand.New(rand.NewPCG(tr.seed, 5))
	for i := range 200 * r.jobs {
		if i == 60*r.jobs {
			r.recover()
		}
		if err := r.turn(); err != nil {
			return nil, err
		}
		if when.IntN(40) == 0 {
			w, err := again(r)
			if err != nil {
				return nil, err
			}
			if a, b := r.eng.World().AppendState(nil), w.AppendState(nil); !bytes.Equal(a, b) {
				return nil, fmt.Errorf("the world is\n%s\nand made again\n%s", a, b)
			}
			r.eng = engine.New(r.cfg, w)
		}
	}
	return json.Marshal(r.log)
}

func fromLog(r *run) (*world.World, error) { return replay(r.outside.spec, r.log) }

func fromSnapshot(r *run) (*world.World, error) {
	shot, err := r.eng.World().EncodeSnapshot()
	if err != nil {
		return nil, err
	}
	return world.RestoreSnapshot(r.outside.spec, shot)
}

func drawTrial(t *rapid.T) trial {
	return trial{
		approach: engine.Approach(rapid.IntRange(0, 1).Draw(t, "approach")),
		policy:   rapid.SampledFrom(policyNames()).Draw(t, "policy"),
		place:    rapid.SampledFrom(placePolicies()).Draw(t, "place"),
		jobs:     rapid.IntRange(1, 20).Draw(t, "jobs"),
		seed:     rapid.Uint64().Draw(t, "seed"),
	}
}

func TestAnEngineFromASnapshotGoesOnLikeOneFromTheWholeLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTrial(t)
		a, err := loses(tr, fromLog)
		if err != nil {
			t.Fatalf("%v: %v", tr, err)
		}
		b, err := loses(tr, fromSnapshot)
		if err != nil {
			t.Fatalf("%v: %v", tr, err)
		}
		if !bytes.Equal(a, b) {
			t.Fatalf("%v: the logs differ:\n%s\n%s", tr, a, b)
		}
	})
}

func TestTheRestOfTheLogGivesTheSameWorldOnASnapshot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTrial(t)
		r := newRun(tr)
		if err := r.play(); err != nil {
			t.Fatalf("%v: %v", tr, err)
		}
		at := rapid.IntRange(0, len(r.log)).Draw(t, "snapshot after event")
		from := rapid.IntRange(0, at).Draw(t, "begun after event")
		w, err := replay(r.outside.spec, r.log[:from])
		if err != nil {
			t.Fatal(err)
		}
		copying := w.BeginCopy()
		for i := range r.log[from:at] {
			copying.CopyJobs(i % 2)
			if err := w.ApplyEvent(&r.log[from+i]); err != nil {
				t.Fatal(err)
			}
		}
		shot, err := copying.FinishCopy().EncodeSnapshot()
		if err != nil {
			t.Fatal(err)
		}
		back, err := world.RestoreSnapshot(r.outside.spec, shot)
		if err != nil {
			t.Fatal(err)
		}
		for i := at; ; i++ {
			if a, b := w.AppendState(nil), back.AppendState(nil); !bytes.Equal(a, b) {
				t.Fatalf("%v: after event %d the world is\n%s\nthe restored one\n%s", tr, i, a, b)
			}
			if i == len(r.log) {
				return
			}
			for _, each := range []*world.World{w, back} {
				if err := each.ApplyEvent(&r.log[i]); err != nil {
					t.Fatal(err)
				}
				if err := each.CheckInvariants(); err != nil {
					t.Fatalf("%v: after event %d: %v", tr, i, err)
				}
			}
			if a, b := nextOf(w), nextOf(back); a != b {
				t.Fatalf("%v: after event %d next are %v and %v", tr, i, a, b)
			}
		}
	})
}

// nextOf is what the engine would look at next.
func nextOf(w *world.World) [3]core.Time {
	timer, _ := w.DueTimer(w.Now())
	head := core.JobID(0)
	if j := w.QueueHead(); j != nil {
		head = j.Spec().ID
	}
	return [3]core.Time{w.NextTimer(), core.Time(timer.Job), core.Time(head)}
}
