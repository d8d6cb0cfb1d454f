package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/godwit-hpc/godwit/internal/agent/output"
	"github.com/godwit-hpc/godwit/internal/agent/watch"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
)

// newWatch begins to follow the program.
func (l *life) newWatch(s *started) *watch.Watch {
	progress, err := output.NewProgress(l.attempt.Spec.Progress)
	if err != nil {
		l.sendNote("predict", "no progress from the output", fmt.Sprintf("the pattern cannot be used: %v", err), nil)
		progress = new(output.Progress)
	}
	return watch.NewWatch(watch.Program{Attempt: l.attempt, Saved: s.saved, Method: s.choice.Method,
		Began: l.activeTime(), Used: l.usage(), Progress: progress})
}

// onSample looks at the program and does what follows from it.
func (l *life) onSample() {
	l.checkFence()
	l.takeSample()
	l.judgeSandboxCost()
	l.pollDenied()
	l.noteShareChange()
	l.noteHosts()
	l.askIfInDanger()
	if l.attempt.Promise > 0 && l.attempt.Spec.Contract != nil {
		l.watchContract()
	}
}

// takeSample takes a sample.
func (l *life) takeSample() {
	u := l.usage()
	if l.isSandboxed() {
		l.hears.ReadMessages(l.noteMessage)
	}
	l.readSizes()
	l.watch.ReportSteps(l.report.ReadSteps())
	l.watch.AddSample(l.activeTime(), u, l.spool)
	l.measurePulse()
	l.watch.JudgeChance(l.timeLeft())
}

// measurePulse finds out what the time to come is worth. It may have to wait for the
// processor, so it is done beside all else.
func (l *life) measurePulse() {
	if l.around.pulse == nil || !l.watch.BeginPulse(l.activeTime()) {
		return
	}
	w, mark := l.watch, l.attempt.Mark
	l.runInBackground(func(context.Context) (func(), func()) {
		felt, ok := l.around.pulse(mark)
		return func() { w.SetPulse(felt, ok) }, nil
	})
}

// timeLeft is the time to the deadline; false if there is none.
func (l *life) timeLeft() (time.Duration, bool) {
	if l.attempt.Deadline <= 0 {
		return 0, false
	}
	return l.attempt.Deadline.Sub(l.brokerTime()), true
}

// noteShareChange notes that the share of the processors, or what it is worth, has
// changed for good.
func (l *life) noteShareChange() {
	c, ok := l.watch.ShareChange(l.activeTime())
	if !ok {
		return
	}
	inputs := map[string]any{"from": c.From, "to": c.To}
	if chance := l.watch.Chance(); chance >= 0 {
		inputs["p_deadline"] = chance
	}
	l.sendNote("predict", fmt.Sprintf("CPU share %s from %.0f %% to %.0f %%", changeDirection(c.From, c.To), 100*c.From,
		100*c.To),
		"change detected; earlier samples no longer count", inputs)
}

func changeDirection(from, to float64) string {
	if to < from {
		return "dropped"
	}
	return "rose"
}

// askIfInDanger asks the broker for a better place if the deadline is in danger
// here.
func (l *life) askIfInDanger() {
	chance := l.watch.Chance()
	left, ok := l.timeLeft()
	if !ok || chance < 0 || l.stopping != nil || l.outbox.IsWaiting(wire.Ask) {
		return
	}
	if l.attempt.Spec.Adapt != "" {
		if l.watch.NeedsWarning(l.activeTime(), left) {
			l.sendNote("predict", "the deadline is in danger", "migration is off for this job (--adapt off)",
				map[string]any{"p_deadline": chance})
		}
		return
	}
	if l.watch.IsInDanger(l.activeTime(), left) {
		v := l.currentVitals()
		l.outbox.QueueMessage(wire.Message{Kind: wire.Ask, State: &v,
			Why: fmt.Sprintf("the chance to meet the deadline here is %.0f %%, %.0f %% are wanted", 100*chance,
				100*l.watch.WantedChance())})
	}
}

// currentVitals is how the job does, also when the program never ran.
func (l *life) currentVitals() wire.Vitals {
	if l.watch == nil {
		return wire.Vitals{Wall: l.timeRun().Seconds(), CPU: l.usage().CPU.Seconds(), Done: -1,
			Chance: -1}
	}
	v := l.watch.Vitals(l.activeTime())
	v.Wall, v.SaveCost, v.SandboxCost = l.timeRun().Seconds(), l.saveCost().Seconds(), l.sandboxCost()
	v.Hosts = l.hostUsage()
	return v
}

// saveCost is how long it takes to save, move and restore the program, as it took
// last time; 0 if it was never saved here: the broker has seen others.
func (l *life) saveCost() time.Duration {
	if l.watch.MethodName() == checkpointing.MethodRestart || l.saving.Took <= 0 {
		return 0
	}
	return l.saving.Took + max(l.restored, l.saving.Took/2)
}
