package world

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestAnAttemptThatResumesIsNotTakenForAFastOne(t *testing.T) {
	s := newScaling()
	var p pace
	p.beginAttempt(0, true)
	p.recordProgress(core.AtSecond(100), 0.5, 4, s) // 0.5 % a second
	p.beginAttempt(core.AtSecond(200), false)
	p.recordProgress(core.AtSecond(210), 0.5, 4, s) // from a checkpoint: no speed follows
	if p.rate != 0.005 || p.done != 0.5 {
		t.Errorf("after the first report rate %g, done %g; want 0.005, 0.5", p.rate, p.done)
	}
	p.recordProgress(core.AtSecond(310), 0.75, 4, s)
	if p.rate != 0.0025 {
		t.Errorf("after the second report rate %g, want 0.0025", p.rate)
	}
}

func TestAnAttemptThatBeginsAnewMayBeBehindTheOneBefore(t *testing.T) {
	s := newScaling()
	var p pace
	p.beginAttempt(0, true)
	p.recordProgress(core.AtSecond(100), 0.9, 4, s)
	p.beginAttempt(core.AtSecond(200), false)
	p.recordProgress(core.AtSecond(300), 0.1, 4, s)
	if p.done != 0.1 {
		t.Errorf("done is %g, want 0.1", p.done)
	}
}
