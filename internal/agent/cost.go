package agent

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/host/proctable"
	"github.com/godwit-hpc/godwit/internal/observe/history"
)

// What the sandbox costs a program. gVisor runs the program's own instructions
// at full speed, in processes of their own, and its kernel, the sentry, in
// another; so what the sentry uses beside them tells how often the program calls
// it. See docs/decisions/0010-when-to-sandbox.md for the measurements behind
// these numbers.
const (
	sentryIdle     = 0.05 // seconds a second that the sentry uses whatever the program does
	tooBusy        = 0.05 // sentry's seconds for each of the program's, above which the program is slowed down
	perSentry      = 10   // seconds lost for each that a busy sentry uses
	beginning      = time.Second
	minJudgedTime  = time.Second      // of the program's, to judge
	maxJudgingTime = 10 * time.Second // after which it is judged anyhow
	hardlyBusy     = 200 * time.Millisecond
	neverAgain     = history.NeverSandbox
	quickFailure   = time.Minute // a program that fails sooner is tried without the sandbox
)

// boxed is what was seen of a program in the sandbox at one moment.
type boxed struct {
	at     time.Duration
	total  time.Duration // CPU of everything
	sentry time.Duration // of the sandbox's own processes
}

// sandboxSlowdown is how many times longer the program takes in the sandbox, from what
// was seen at two moments; false if that is too little to tell.
func sandboxSlowdown(a, b boxed) (float64, bool) {
	wall := b.at - a.at
	own := max(b.sentry-a.sentry, 0)
	program := max(b.total-a.total-own, 0)
	switch {
	case program < minJudgedTime && wall < maxJudgingTime:
		return 0, false
	case program < hardlyBusy:
		return 1, true // it mostly waits; so can it there
	}
	busy := max(own.Seconds()-sentryIdle*wall.Seconds(), 0) / program.Seconds()
	if busy <= tooBusy {
		return min(1+busy, acceptable), true
	}
	return 1 + perSentry*busy, true
}

// Of a program that runs without the sandbox, what it would cost there is
// guessed from the time it spends in the kernel and from how often it waits.
const (
	startCost    = 50 * time.Millisecond // in the kernel, to load a program
	faultCost    = 2500 * time.Nanosecond
	perKernel    = 40.0  // seconds lost for each that the program spends in system calls
	perSwitch    = 30e-6 // seconds lost each time it waits for another thread or process
	kernelNoise  = 0.003 // of the time is the kernel's in every program
	fewSwitches  = 100.0 // a second
	clearlyMuch  = 2.0
	minPlainTime = 2 * time.Second // of CPU, to guess
)

// spent is what the kernel counted for a program and all it waited for.
type spent struct {
	user, kernel     time.Duration
	switches, faults int64
}

// guessSandboxCost guesses what the sandbox would cost; 0 if it could be much or little.
func guessSandboxCost(s spent) float64 {
	all := s.user + s.kernel
	if all < minPlainTime {
		return 0
	}
	calls := max(s.kernel-startCost-faultCost*time.Duration(s.faults), 0).Seconds() / all.Seconds()
	waits := float64(s.switches) / all.Seconds()
	cost := 1 + perKernel*max(calls-kernelNoise, 0) + perSwitch*max(waits-fewSwitches, 0)
	if cost <= acceptable || cost >= clearlyMuch {
		return cost
	}
	return 0
}

// spentByChildren is what all processes have used that this one waited for.
func spentByChildren() spent {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &u) != nil {
		return spent{}
	}
	return spent{time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano()), u.Nvcsw, u.Minflt + u.Majflt}
}

func (s spent) minusEarlier(t spent) spent {
	return spent{s.user - t.user, s.kernel - t.kernel, s.switches - t.switches, s.faults - t.faults}
}

// sentryTime is the processor time of a sandbox's own processes: the supervisor and
// those it started. The program runs in processes that those start.
func sentryTime(supervisor int) (time.Duration, bool) {
	p, err := proctable.ReadProcess(supervisor)
	if err != nil {
		return 0, false
	}
	children, err := proctable.ChildrenOf(supervisor)
	if err != nil {
		return 0, false
	}
	sum := p.CPUTime
	for _, pid := range children {
		if child, err := proctable.ReadProcess(pid); err == nil {
			sum += child.CPUTime
		}
	}
	return sum, true
}
