package agent

import (
	"fmt"
	"time"
)

// Names of the checkpoint methods.
const (
	methodAuto    = "auto"
	methodSandbox = "sandbox"
	methodSignal  = "signal"
	methodExit85  = "exit85"
	methodRestart = "restart"
)

// acceptable is how many times longer a program may take in the sandbox so that
// it is put there unasked.
const acceptable = 1.05

// minMovableRun is how long a program must run so that saving it can pay.
const minMovableRun = 10 * time.Second

// minSavableRun is how long a program without a deadline must run to be put in the
// sandbox only to survive failures of the machine.
const minSavableRun = 5 * time.Minute

// wish is what the choice of a checkpoint method depends on.
type wish struct {
	method  string // that the job names; auto or "" leaves it to us
	signal  string // the job says the program saves itself when it gets this
	files   []string
	cost    float64       // of the sandbox for this program, 0 if not known
	noBox   func() string // why there is no sandbox here; "" if there is one; takes a moment
	due     bool          // the job has a deadline and may be moved to keep it
	predict bool          // its end can be predicted: its need is known, or it reports progress
	expect  time.Duration // it will probably run that long here; 0 if not known
}

// choice is a method and why it was chosen.
type choice struct {
	method string
	why    string
	// trial: nobody knows yet what the sandbox costs this program. It is measured
	// while it runs, and given up if it is too much.
	trial bool
}

// chooseMethod picks the method. What the job names is obeyed or refused. Otherwise:
// the program's own way of saving itself first; the sandbox where it is known to
// cost little, or where finding out can pay; else from the beginning. See
// docs/decisions/0010.
func chooseMethod(w wish) (choice, error) {
	switch w.method {
	case methodAuto, "":
		return chooseAutomatically(w), nil
	case methodSandbox:
		if why := w.noBox(); why != "" {
			return choice{}, fmt.Errorf("the job wants checkpoint method sandbox, which cannot be used here: %s", why)
		}
	case methodSignal:
		if w.signal == "" {
			return choice{}, fmt.Errorf("the job wants checkpoint method signal but names no signal")
		}
	case methodExit85, methodRestart:
	default:
		return choice{}, fmt.Errorf("checkpoint method %q is not known here; there are sandbox, signal, exit85 and restart", w.method)
	}
	return choice{method: w.method, why: "the job says so"}, nil
}

func chooseAutomatically(w wish) choice {
	from0 := func(format string, args ...any) choice {
		return choice{method: methodRestart, why: fmt.Sprintf(format, args...)}
	}
	boxed := choice{method: methodSandbox}
	switch {
	case w.signal != "":
		return choice{method: methodSignal, why: "the job says that the program saves itself on SIG" + w.signal}
	case len(w.files) > 0:
		return choice{method: methodExit85, why: "the job names the files in which the program saves itself"}
	case w.expect > 0 && w.expect < minMovableRun:
		return from0("it will run about %s: starting again costs less than saving", roundDuration(w.expect))
	case w.cost >= neverAgain:
		return from0("an earlier run of this program failed in the sandbox, or needed the network or files that are not there")
	case w.cost > acceptable:
		return from0("in the sandbox this program takes %.2f times as long, more than %.2f times", w.cost, acceptable)
	case w.cost > 0 && (w.due || w.expect == 0 || w.expect >= minSavableRun):
		boxed.why = fmt.Sprintf("in the sandbox this program takes %.2f times as long, not more than %.2f times", max(w.cost, 1), acceptable)
	case w.cost > 0:
		return from0("no deadline, and it will run about %s: starting again is cheap enough", roundDuration(w.expect))
	case w.due && w.predict:
		boxed.trial = true
		boxed.why = "it has a deadline and may have to be migrated; the overhead of the sandbox is measured in this run"
	case w.due:
		return from0("the run time of this program is unknown, so nothing could tell when to migrate it; this run is measured")
	default:
		return from0("the overhead of the sandbox is unknown for this program; this run is measured")
	}
	if why := w.noBox(); why != "" {
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
