package checkpointing

import (
	"fmt"
	"time"
)

// Names of the checkpoint methods.
const (
	MethodAuto    = "auto"
	MethodSandbox = "sandbox"
	MethodSignal  = "signal"
	MethodExit85  = "exit85"
	MethodSRS     = "srs"
	MethodRestart = "restart"
)

// AcceptableSlowdown is how many times longer a program may take in the sandbox so that
// it is put there unasked.
const AcceptableSlowdown = 1.05

// minMovableRun is how long a program must run so that saving it can pay.
const minMovableRun = 10 * time.Second

// minSavableRun is how long a program without a deadline must run to be put in the
// sandbox only to survive failures of the machine.
const minSavableRun = 5 * time.Minute

// MethodInputs is what the choice of a checkpoint method depends on.
type MethodInputs struct {
	Method        string // that the job names; auto or "" leaves it to us
	Signal        string // the job says the program saves itself when it gets this
	Files         []string
	SandboxCost   float64       // of the sandbox for this program, 0 if not known
	WhyNoSandbox  func() string // why there is no sandbox here; "" if there is one; takes a moment
	HasDeadline   bool          // the job has a deadline and may be moved to keep it
	IsPredictable bool          // its end can be predicted: its need is known, or it reports progress
	ExpectedRun   time.Duration // it will probably run that long here; 0 if not known
}

// MethodChoice is a method and why it was chosen.
type MethodChoice struct {
	Method string
	Why    string
	// Trial: nobody knows yet what the sandbox costs this program. It is measured
	// while it runs, and given up if it is too much.
	Trial bool
}

// ChooseMethod picks the method. What the job names is obeyed or refused. Otherwise:
// the program's own way of saving itself first; the sandbox where it is known to
// cost little, or where finding out can pay; else from the beginning. See
// docs/decisions/0010.
func ChooseMethod(w MethodInputs) (MethodChoice, error) {
	switch w.Method {
	case MethodAuto, "":
		return chooseAutomatically(w), nil
	case MethodSandbox:
		if why := w.WhyNoSandbox(); why != "" {
			return MethodChoice{}, fmt.Errorf("the job wants checkpoint method sandbox, which cannot be used here: %s", why)
		}
	case MethodSignal:
		if w.Signal == "" {
			return MethodChoice{}, fmt.Errorf("the job wants checkpoint method signal but names no signal")
		}
	case MethodExit85, MethodSRS, MethodRestart:
	default:
		return MethodChoice{}, fmt.Errorf("checkpoint method %q is not known here; there are sandbox, signal, exit85, "+
			"srs and restart", w.Method)
	}
	return MethodChoice{Method: w.Method, Why: "the job says so"}, nil
}

func chooseAutomatically(w MethodInputs) MethodChoice {
	from0 := func(format string, args ...any) MethodChoice {
		return MethodChoice{Method: MethodRestart, Why: fmt.Sprintf(format, args...)}
	}
	boxed := MethodChoice{Method: MethodSandbox}
	switch {
	case w.Signal != "":
		return MethodChoice{Method: MethodSignal, Why: "the job says that the program saves itself on SIG" + w.Signal}
	case len(w.Files) > 0:
		return MethodChoice{Method: MethodExit85, Why: "the job names the files in which the program saves itself"}
	case w.ExpectedRun > 0 && w.ExpectedRun < minMovableRun:
		return from0("it will run about %s: starting again costs less than saving", roundDuration(w.ExpectedRun))
	case w.SandboxCost >= NeverSandbox:
		return from0("an earlier run of this program failed in the sandbox, or needed the network or files that are not " +
			"there")
	case w.SandboxCost > AcceptableSlowdown:
		return from0("in the sandbox this program takes %.2f times as long, more than %.2f times", w.SandboxCost,
			AcceptableSlowdown)
	case w.SandboxCost > 0 && (w.HasDeadline || w.ExpectedRun == 0 || w.ExpectedRun >= minSavableRun):
		boxed.Why = fmt.Sprintf("in the sandbox this program takes %.2f times as long, not more than %.2f times",
			max(w.SandboxCost, 1), AcceptableSlowdown)
	case w.SandboxCost > 0:
		return from0("no deadline, and it will run about %s: starting again is cheap enough", roundDuration(w.ExpectedRun))
	case w.HasDeadline && w.IsPredictable:
		boxed.Trial = true
		boxed.Why = "it has a deadline and may have to be migrated; the overhead of the sandbox is measured in this run"
	case w.HasDeadline:
		return from0("the run time of this program is unknown, so nothing could tell when to migrate it; this run is " +
			"measured")
	default:
		return from0("the overhead of the sandbox is unknown for this program; this run is measured")
	}
	if why := w.WhyNoSandbox(); why != "" {
		return from0("the program has no checkpoint of its own and there is no sandbox here: %s", why)
	}
	return boxed
}

func roundDuration(d time.Duration) time.Duration {
	if d >= 10*time.Second {
		return d.Round(time.Second)
	}
	return d.Round(100 * time.Millisecond)
}
