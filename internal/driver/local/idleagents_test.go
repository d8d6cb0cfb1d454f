package local

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// restingAgent is the agent of that process number if it rests, else nil.
func (d *Driver) restingAgent(pid int) *process {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.idle {
		if p.pid == pid {
			return p
		}
	}
	return nil
}

// serve starts an attempt that ends by itself and returns the agent that served
// it and rests now.
func (w *world) serve(d *Driver) (*wire.Attempt, *process) {
	w.t.Helper()
	a := w.AttemptFor(drivertest.Ends)
	if err := d.StartAttempt(w.t.Context(), a); err != nil {
		w.t.Fatal(err)
	}
	clocktest.WaitFor(w.t, "the end to be heard", func() bool { return heard(w, a, wire.Ended) == 1 })
	var p *process
	// It rests for a moment only: on a slow machine it may have left already. Nor is it the only one
	// where the agent of an attempt before came to rest when another had been started.
	clocktest.WaitFor(w.t, "the agent to be through", func() bool {
		p = d.restingAgent(attemptdir.LockHolder(w.folder(a)))
		return p != nil || d.attemptRecord(idOf(a), true).runningAgent() == nil
	})
	return a, p
}

// calledAs is the command line of a process; "" if it is gone.
func calledAs(pid int) string {
	line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return strings.TrimRight(string(line), "\x00")
}

func TestAnAgentServesOneAttemptAfterTheOther(t *testing.T) {
	w := newWorld(t, withRealAgent)
	d := w.open()
	served := map[int]int{}
	for range 10 {
		a, p := w.serve(d)
		if p != nil {
			served[p.pid]++
		}
		if n := w.StartCount(a); n != 1 {
			t.Errorf("it ran %d times", n)
		}
		if p != nil && strings.Contains(calledAs(p.pid), w.folder(a)) {
			t.Errorf("it rests and is called %q", calledAs(p.pid))
		}
		if err := d.ReleaseAttempt(t.Context(), idOf(a)); err != nil {
			t.Error(err)
		}
		if n := heard(w, a, wire.Ended); n != 1 {
			t.Errorf("its end was heard %d times", n)
		}
	}
	if len(served) > 5 { // unless the machine stood still again and again
		t.Errorf("they were served by %v", served)
	}
	clocktest.WaitFor(t, "the last agent to leave", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.idle) == 0
	})
}

func TestAnAgentThatDiesAtRestIsNotMissed(t *testing.T) {
	w := newWorld(t, withRealAgent)
	d := w.open()
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGKILL, syscall.SIGTERM} {
		_, p := w.serve(d)
		if p != nil {
			_ = syscall.Kill(p.pid, sig) // it is our child, and not waited for while it rests
		}
		// The driver may or may not know by now; the agent that is to leave may have
		// the folder already, and then leaves with it.
		a := w.AttemptFor(drivertest.Ends)
		if err := d.StartAttempt(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		clocktest.WaitFor(t, "an end to be heard", func() bool {
			return heard(w, a, wire.Ended) == 1 || sig == syscall.SIGTERM && heard(w, a, wire.Left) == 1
		})
	}
}

func TestReleasingAnAttemptLeavesItsAgentsNextOneAlone(t *testing.T) {
	w := newWorld(t, withRealAgent)
	d := w.open()
	for _, fresh := range []bool{false, true} {
		first, second := w.oneAfterTheOther(d)
		if fresh { // a driver that did not see the agent go on
			d = w.open()
		}
		if p := agentOn(w.folder(first), attemptdir.LockHolder(w.folder(first)), d.clock()); p != nil {
			t.Errorf("agent %d is taken for one that is still at the first", p.pid)
			p.stopWaiting()
		}
		if err := d.ReleaseAttempt(t.Context(), idOf(first)); err != nil {
			t.Error(err)
		}
		if w.LivingProcesses(second) == 0 || w.StartCount(second) != 1 ||
			d.attemptRecord(idOf(second), true).runningAgent() == nil {
			t.Errorf("fresh driver %v: the second was ended with the first", fresh)
		}
	}
}

// oneAfterTheOther are an attempt that has ended and one that runs, both served by
// the same agent.
func (w *world) oneAfterTheOther(d *Driver) (first, second *wire.Attempt) {
	w.t.Helper()
	for range 20 { // on a slow machine an agent may leave before it is asked again
		a, p := w.serve(d)
		next := w.AttemptFor(drivertest.Stays)
		if err := d.StartAttempt(w.t.Context(), next); err != nil {
			w.t.Fatal(err)
		}
		clocktest.WaitFor(w.t, "the next to run", func() bool { return w.StartCount(next) == 1 })
		if p != nil && attemptdir.LockHolder(w.folder(next)) == p.pid {
			if name := calledAs(p.pid); !strings.HasSuffix(name, "/*") && !strings.HasSuffix(name, w.folder(next)) {
				w.t.Errorf("it is called %q at %s", name, w.folder(next))
			}
			return a, next
		}
	}
	w.t.Fatal("no agent was used again")
	return nil, nil
}
