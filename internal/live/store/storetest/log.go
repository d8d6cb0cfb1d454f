package storetest

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func aStep(n, events int) store.Step {
	return store.Step{At: core.AtSecond(float64(n)), In: &core.Input{Kind: core.Progress, Job: core.JobID(n), Done: 0.25},
		Events: events, Commands: []core.Command{{Kind: core.Start, Job: core.JobID(n), Epoch: 1}}}
}

// logText is the log of a store, a line for each part: where it begins, its events, its steps.
func (f *fixture) logText() (lines []string) {
	f.Helper()
	f.mustSucceed(f.s.ReadLog(f.ctx, func(p *store.LogPart) error {
		line := fmt.Sprintf("%d:", p.First)
		if p.Snapshot != nil {
			line += fmt.Sprintf(" snapshot %d %q", p.Snapshot.UpTo, p.Snapshot.State)
		}
		for i := range p.Events {
			line += fmt.Sprintf(" e%d", p.Events[i].Job)
		}
		for i := range p.Steps {
			switch s := &p.Steps[i]; {
			case s.Left != nil:
				line += fmt.Sprintf(" left%s@%d", s.Left, s.UpTo)
			case s.Began != nil:
				line += " began" + string(s.Began)
			default:
				line += fmt.Sprintf(" s%d/%d/%d", s.In.Job, s.Events, len(s.Commands))
			}
		}
		lines = append(lines, line)
		return nil
	}))
	return lines
}

func testLog(f *fixture) {
	f.checkSame("the log of a new store", f.logText(), []string{"1:"})
	f.commitBatch(&store.Batch{First: 1, Events: eventRange(1, 2)}) // by an earlier version
	f.commitBatch(&store.Batch{First: 3, Events: eventRange(3, 5),
		Steps: []store.Step{{Began: json.RawMessage(`{"x":1}`)}, aStep(3, 1), aStep(4, 2)}})
	f.commitBatch(&store.Batch{Steps: []store.Step{aStep(9, 0)}})
	f.commitBatch(&store.Batch{First: 6, Events: eventRange(6, 6),
		Steps: []store.Step{aStep(10, 0), {Left: json.RawMessage(`{}`), UpTo: 5}, aStep(6, 1)}})
	for _, wrong := range []int{0, 2} {
		if err := f.s.CommitBatch(f.ctx, &store.Batch{First: 7, Events: eventRange(7, 7),
			Steps: []store.Step{aStep(7, wrong)}}); !errors.Is(err, store.ErrNumber) {
			f.Errorf("one event of a step with %d is taken: %v", wrong, err)
		}
	}
	whole := []string{"1:", "1: e1 e2", `3: e3 e4 e5 began{"x":1} s3/1/1 s4/2/1`, "6: s9/0/1",
		"6: e6 s10/0/1 left{}@5 s6/1/1"}
	f.checkSame("the log", f.logText(), whole)
	f.crashStore()
	f.checkSame("the log after a crash", f.logText(), whole)
	f.mustSucceed(f.s.SaveSnapshot(f.ctx, 5, []byte("five")))
	f.checkSame("the log from a snapshot", f.logText(),
		[]string{`6: snapshot 5 "five"`, "6: s9/0/1", "6: e6 s10/0/1 left{}@5 s6/1/1"})
	f.commitBatch(&store.Batch{First: 7, Events: eventRange(7, 7), Steps: []store.Step{aStep(7, 1)}})
	f.mustSucceed(f.s.SaveSnapshot(f.ctx, 6, []byte("six")))
	f.commitBatch(&store.Batch{First: 8, Events: eventRange(8, 8), Steps: []store.Step{aStep(8, 1)}})
	f.mustSucceed(f.s.SaveSnapshot(f.ctx, 8, []byte("eight")))
	f.checkSame("the log from the older of two snapshots", f.logText(),
		[]string{`7: snapshot 6 "six"`, "7: e7 s7/1/1", "8: e8 s8/1/1"})
	stop := errors.New("stop")
	if err := f.s.ReadLog(f.ctx, func(*store.LogPart) error { return stop }); !errors.Is(err, stop) {
		f.Errorf("a reader that gives up gets %v", err)
	}
}
