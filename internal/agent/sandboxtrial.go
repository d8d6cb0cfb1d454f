package agent

import (
	"fmt"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
)

// trial watches what the sandbox costs the program that runs in it. Where nobody
// knew, and it turns out to be too much, or the program fails at once, it is run
// again from the beginning without: what it did in the sandbox stays there but
// for its work folder, which is fetched anew, and its output, which is kept back
// until that is decided.
type trial struct {
	first, last checkpointing.SandboxUsage
	cost        float64                    // as last measured; 0: not known
	open        bool                       // the sandbox may still be given up
	before      checkpointing.ProcessUsage // by other children, where there is no sandbox
}

func (l *life) newTrial(s *started) *trial {
	return &trial{open: s.choice.Trial, before: l.around.spent()}
}

// betweenLooks is how often the cost is measured once it is known.
const betweenLooks = 30 * time.Second

// judgeSandboxCost looks at what the sandbox costs, after a sample.
func (l *life) judgeSandboxCost() {
	t := l.trial
	if l.program == nil || l.program.choice.Method != checkpointing.MethodSandbox {
		return
	}
	used := l.watch.LastUsage()
	now := checkpointing.SandboxUsage{At: l.watch.RunSince(l.activeTime()), Total: used.CPU, Ran: used.Ran,
		Delayed: used.Delayed}
	if now.At < checkpointing.TrialWarmup || t.cost > 0 && now.At-t.last.At < betweenLooks {
		return
	}
	var ok bool
	if now.Sentry, ok = l.around.sentry(l.program.run.RootPID()); !ok {
		return
	}
	if t.first.At == 0 {
		t.first = now
		return
	}
	cost, ok := checkpointing.SandboxSlowdown(t.first, now)
	if !ok {
		return
	}
	t.cost, t.last = cost, now
	if !t.open {
		return
	}
	t.open = false
	inputs := map[string]any{"cost": cost, "sandbox_cpu_s": (now.Sentry - t.first.Sentry).Seconds(),
		"cpu_s": (now.Total - t.first.Total).Seconds()}
	if cost > checkpointing.AcceptableSlowdown && l.stopping == nil && l.verdict == nil && l.save == nil {
		l.leaveSandbox(fmt.Sprintf("it would take about %.1f times as long in the sandbox", cost), inputs)
		return
	}
	l.outbox.Held = false
	l.sendNote("method", checkpointing.MethodSandbox,
		fmt.Sprintf("the sandbox costs this program little: about %.2f times the time", cost), inputs)
}

// leaveSandbox begins again without the sandbox, once the program is gone.
func (l *life) leaveSandbox(why string, inputs map[string]any) {
	l.sendNote("method", checkpointing.MethodRestart, why+"; it is started again without", inputs)
	l.retry = true
	l.killProgram()
}

// mayBlameSandbox says whether the end of a program may be the sandbox's fault: then it
// is run again without.
func (l *life) mayBlameSandbox(r checkpoint.Result) bool {
	return l.program.choice.Trial && (r.Code != 0 || r.Lost) && l.verdict == nil && l.stopping == nil &&
		l.watch.RunSince(l.activeTime()) < checkpointing.QuickFailure
}

// restartUnsandboxed starts the program from the beginning without the sandbox.
func (l *life) restartUnsandboxed() {
	l.retry, l.watch, l.trial, l.denied = false, nil, nil, denials{}
	l.startPreparing(true)
}

// sandboxCost is what is known now of what the sandbox costs the program; 0 if
// nothing.
func (l *life) sandboxCost() float64 {
	switch {
	// what a run without it costs tells nothing of that
	case l.boxFailed, l.attempt.SandboxCost >= checkpointing.NeverSandbox:
		return checkpointing.NeverSandbox
	case l.trial == nil:
		return l.attempt.SandboxCost
	case l.trial.cost > 0:
		return l.trial.cost
	case l.watch != nil && l.watch.MethodName() != checkpointing.MethodSandbox && l.program == nil:
		return checkpointing.GuessSandboxCost(l.around.spent().MinusEarlier(l.trial.before))
	}
	return 0
}
