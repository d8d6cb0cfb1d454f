package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
)

// What a program cannot do in the sandbox it may have to do all the same. One that we
// put there unasked is started again without as soon as it tries, if that costs little;
// whatever cannot be mended is told to its user. See docs/decisions/0012.

// deniedInterval is how often the sandbox is asked what it denied, once the program
// has run for checkpointing.QuickFailure.
const deniedInterval = 30 * time.Second

// kindWarning is the kind of an entry of explain that the user of the job is to see in
// any case.
const kindWarning = "warning"

// denials follows what the sandbox denied the program.
type denials struct {
	asking bool
	asked  time.Duration // when last, on life's clock
	told   []checkpoint.Denial
}

// sandboxNotice is said when a program begins in the sandbox.
const sandboxNotice = "no network, and only its working directory and a /tmp of its own can be written; --checkpoint " +
	"restart runs it without"

// pollDenied asks the sandbox, beside all else, what it denied.
func (l *life) pollDenied() {
	c, ok := l.confinedProgram()
	d := &l.denied
	if !ok || d.asking || l.watch.RunSince(l.activeTime()) > checkpointing.QuickFailure &&
		l.sinceBirth()-d.asked < deniedInterval {
		return
	}
	d.asking, d.asked = true, l.sinceBirth()
	program := l.program
	l.runInBackground(func(context.Context) (func(), func()) {
		list := c.DeniedCalls()
		return func() {
			d.asking = false
			if l.program == program {
				if l.onDenied(list, false) {
					l.retry = true
					l.killProgram()
				}
			}
		}, nil
	})
}

// confinedProgram is the program that runs, if it cannot do all that it could elsewhere.
func (l *life) confinedProgram() (checkpoint.Confined, bool) {
	if l.program == nil {
		return nil, false
	}
	c, ok := l.program.run.(checkpoint.Confined)
	return c, ok
}

// onDenied does what follows from what the sandbox denied. It reports whether the
// program, which may have failed, is to be run again without.
func (l *life) onDenied(list []checkpoint.Denial, failed bool) (again bool) {
	var fresh, wanted []checkpoint.Denial
	for _, d := range list {
		if slices.Contains(l.denied.told, d) {
			continue
		}
		fresh = append(fresh, d)
		if d.Kind != checkpoint.DeniedKeep {
			wanted = append(wanted, d)
		}
	}
	if len(fresh) == 0 {
		return false
	}
	l.denied.told = append(l.denied.told, fresh...)
	if len(wanted) > 0 {
		l.boxFailed = true // the next run of this program does without
	}
	if len(wanted) > 0 && l.mayRunUnsandboxed(failed) {
		l.sendNote(kindWarning, "started again without the sandbox", deniedText(wanted)+", which the sandbox does not allow",
			nil)
		return true
	}
	l.sendNote(kindWarning, "the sandbox changed what the program did", deniedText(fresh), nil)
	return false
}

// mayRunUnsandboxed says whether the program may be begun again without the sandbox: nobody
// asked for the sandbox, and little is lost, or all is lost anyhow. Outside the sandbox
// nothing has happened yet.
func (l *life) mayRunUnsandboxed(failed bool) bool {
	m := l.attempt.Spec.Checkpoint.Method
	return (m == checkpointing.MethodAuto || m == "") && l.program.saved == nil && l.stopping == nil && l.verdict == nil &&
		l.save == nil &&
		(failed || l.watch.RunSince(l.activeTime()) < checkpointing.QuickFailure)
}

// deniedText says what was denied, a few of each kind.
func deniedText(list []checkpoint.Denial) string {
	const few = 3
	var parts []string
	for _, k := range []struct {
		kind checkpoint.DenialKind
		text string
	}{
		{checkpoint.DeniedConnect, "it tried to connect to %s"}, {checkpoint.DeniedWrite, "it tried to write %s"},
		{checkpoint.DeniedRead, "it tried to read %s of the host"},
		{checkpoint.DeniedKeep, "what it left in /tmp is gone: %s"},
	} {
		var names []string
		for _, d := range list {
			if d.Kind == k.kind {
				names = append(names, d.Name)
			}
		}
		if more := len(names) - few; more > 0 {
			names = append(names[:few:few], fmt.Sprintf("%d more", more))
		}
		if len(names) > 0 {
			parts = append(parts, fmt.Sprintf(k.text, strings.Join(names, ", ")))
		}
	}
	return strings.Join(parts, "; ")
}
