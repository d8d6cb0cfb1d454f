package checkpointing

import (
	"time"
)

// What the sandbox costs a program. gVisor runs the program's own instructions
// at full speed, in processes of their own, and its kernel, the sentry, in
// another; so what the sentry uses beside them tells how often the program calls
// it. See docs/decisions/0010-when-to-sandbox.md for the measurements behind
// these numbers.
const (
	sentryIdle     = 0.05             // seconds a second that the sentry uses whatever the program does
	tooBusy        = 0.05             // sentry's seconds for each of the program's, above which the program is slowed down
	perSentry      = 10               // seconds lost for each that a busy sentry uses
	TrialWarmup    = time.Second      // of a trial, which is not judged
	minJudgedTime  = time.Second      // of the program's, to judge
	maxJudgingTime = 10 * time.Second // in which it could have used a processor, after which it is judged anyhow
	maxTrialTime   = time.Minute      // after which it is, however little of a processor it had
	hardlyBusy     = 200 * time.Millisecond
	QuickFailure   = time.Minute // a program that fails sooner is tried without the sandbox
)

// NeverSandbox stands for what the sandbox costs a program that fails in it, or wants
// what is not there.
const NeverSandbox = 100.0

// SandboxUsage is what was seen of a program in the sandbox at one moment.
type SandboxUsage struct {
	At     time.Duration
	Total  time.Duration // CPU of everything
	Sentry time.Duration // of the sandbox's own processes
	// Ran is the CPU of the threads that could be asked how long they were Delayed: ready to run, without a processor.
	Ran, Delayed time.Duration
}

// timeToRun is how much of the time between two moments there was a processor for whoever wanted one: a program that
// others keep from running does not wait, and an idle sentry uses less.
func timeToRun(a, b SandboxUsage) time.Duration {
	ran, delayed := max(b.Ran-a.Ran, 0), max(b.Delayed-a.Delayed, 0)
	share := 1.0
	if ran+delayed > 0 {
		share = ran.Seconds() / (ran + delayed).Seconds()
	}
	return time.Duration(share * float64(b.At-a.At))
}

// SandboxSlowdown is how many times longer the program takes in the sandbox, from what
// was seen at two moments; false if that is too little to tell.
func SandboxSlowdown(a, b SandboxUsage) (float64, bool) {
	own := max(b.Sentry-a.Sentry, 0)
	program := max(b.Total-a.Total-own, 0)
	could := timeToRun(a, b)
	if program < minJudgedTime && could < maxJudgingTime && b.At-a.At < maxTrialTime {
		return 0, false
	}
	called := max(own-time.Duration(sentryIdle*float64(could)), 0) // what the sentry used because the program called it
	if program+called < hardlyBusy {
		return 1, true // it mostly waits; so can it there
	}
	busy := called.Seconds() / max(program, hardlyBusy).Seconds()
	if busy <= tooBusy {
		return min(1+busy, AcceptableSlowdown), true
	}
	return min(1+perSentry*busy, NeverSandbox/2), true
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

// ProcessUsage is what the kernel counted for a program and all it waited for.
type ProcessUsage struct {
	User, Kernel     time.Duration
	Switches, Faults int64
}

// GuessSandboxCost guesses what the sandbox would cost; 0 if it could be much or little.
func GuessSandboxCost(s ProcessUsage) float64 {
	all := s.User + s.Kernel
	if all < minPlainTime {
		return 0
	}
	calls := max(s.Kernel-startCost-faultCost*time.Duration(s.Faults), 0).Seconds() / all.Seconds()
	waits := float64(s.Switches) / all.Seconds()
	cost := 1 + perKernel*max(calls-kernelNoise, 0) + perSwitch*max(waits-fewSwitches, 0)
	if cost <= AcceptableSlowdown || cost >= clearlyMuch {
		return cost
	}
	return 0
}

// MinusEarlier is what was used since an earlier moment.
func (s ProcessUsage) MinusEarlier(t ProcessUsage) ProcessUsage {
	return ProcessUsage{s.User - t.User, s.Kernel - t.Kernel, s.Switches - t.Switches, s.Faults - t.Faults}
}
