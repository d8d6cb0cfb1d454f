package agent

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// An agent is killed at random moments, and so are those that take over from
// it: the end is told once, as Ended with all of the output or as Lost, the
// program was started at most once, and nothing of it is left.
func TestWhenAgentsAreKilledTheEndIsToldOnceAndNothingRunsOn(t *testing.T) {
	const rounds = 25
	r := rand.New(rand.NewPCG(7, 7))
	seen := map[wire.Kind]int{}
	// Where agents take long to start, all may be killed before they do anything: then
	// there are more rounds, with more time.
	for i := 0; i < rounds || (seen[wire.Ended] == 0 || seen[wire.Lost] == 0) && i < 4*rounds; i++ {
		m := killedAgents(t, r, 500*(1+i/rounds))
		seen[m.Kind]++
		if t.Failed() {
			return
		}
	}
	t.Logf("%v", seen)
	if seen[wire.Ended] == 0 || seen[wire.Lost] == 0 {
		t.Errorf("all ended alike: %v", seen)
	}
}

// killedAgents kills agents after at most so many milliseconds: at any moment, so that no event
// can be waited for.
func killedAgents(t *testing.T, r *rand.Rand, longest int) wire.Message {
	t.Helper()
	h := newHarness(t)
	starts := filepath.Join(h.dir, "starts")
	h.attempt.Spec.Argv = []string{"/bin/sh", "-c", fmt.Sprintf(`echo started >>%s
		(trap "" HUP TERM; setsid sleep 1000 </dev/null >/dev/null 2>&1 &)
		i=0; while [ $i -lt 30 ]; do i=$((i+1)); echo line $i; echo err $i >&2; sleep 0.00%d; done; exit 6`, starts, r.IntN(5))}
	h.start()
	h.write()
	for range 1 + r.IntN(3) {
		agent := h.spawn()
		wait := time.Duration(r.IntN(longest)) * time.Millisecond
		if r.IntN(3) == 0 {
			h.stop()
			time.Sleep(wait / 2)
			h.start()
		}
		time.Sleep(wait / 2)
		_ = agent.Process.Kill()
		_ = agent.Wait()
	}
	last := h.spawn()
	if err := last.Wait(); err != nil {
		t.Fatalf("the last agent: %v", err)
	}
	if left, err := proctree.MarkedProcesses(h.attempt.Mark); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
		_, _ = proctree.KillLeftovers(context.Background(), h.attempt.Mark)
	}
	if text, err := os.ReadFile(starts); err == nil && strings.Count(string(text), "\n") > 1 {
		t.Errorf("the program was started %d times", strings.Count(string(text), "\n"))
	}
	m := h.ended()
	if m.Kind == wire.Ended {
		wantLines(t, h, m)
	}
	return m
}

func wantLines(t *testing.T, h *harness, m wire.Message) {
	t.Helper()
	var out, err strings.Builder
	for i := 1; i <= 30; i++ {
		fmt.Fprintf(&out, "line %d\n", i)
		fmt.Fprintf(&err, "err %d\n", i)
	}
	if m.Code != 6 || h.output(1) != out.String() || h.output(2) != err.String() {
		t.Errorf("ended with %d after writing %q and %q", m.Code, h.output(1), h.output(2))
	}
}

func TestAnAgentThatTakesOverTellsWhatTheDeadOneKnew(t *testing.T) {
	for _, told := range []bool{false, true} {
		h := newHarness(t, "/bin/sh", "-c", "echo out; echo err >&2; exit 8")
		h.mute = told // the broker has it all, but the agent does not know
		if told {
			h.start()
		}
		h.write()
		agent := h.spawn()
		clocktest.WaitFor(t, "exit.json", func() bool { return sizeOf(filepath.Join(h.dir, exitFile)) > 0 })
		if told {
			h.await(wire.Ended)
		}
		_ = agent.Process.Kill()
		_ = agent.Wait()
		h.stop()
		h.mute = false
		h.start()
		if err := h.spawn().Wait(); err != nil {
			t.Fatal(err)
		}
		if list := h.endings(); len(list) != 1 || list[0].Code != 8 || h.output(1) != "out\n" || h.output(2) != "err\n" {
			t.Errorf("told=%v: %s, %q, %q", told, kinds(list), h.output(1), h.output(2))
		}
	}
}

// A job is stopped, continued and saved, and its agents are killed, at random
// moments: in the end it has written what an undisturbed one writes, to the byte.
func TestAJobSurvivesMovesAndDeathsAtRandomMoments(t *testing.T) {
	const rounds, steps = 6, 120
	t.Setenv(withSteps, "1")
	r := rand.New(rand.NewPCG(11, 11))
	jobs, attempts := 0, 0
	// As above: where agents take long to start there are more jobs, with more time.
	for ; jobs < rounds || attempts < jobs+rounds && jobs < 4*rounds; jobs++ {
		longest := 300 * (1 + jobs/rounds)
		h := newSteps(t, steps, "3ms")
		h.attempt.Spec.Checkpoint.Every = time.Duration(20+r.IntN(100)) * time.Millisecond
		for attempts++; !h.attemptToItsEnd(r, longest); attempts++ {
			h.next(h.newestSaved()...)
		}
		h.wantSteps(steps)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d attempts of %d jobs", attempts, jobs)
	if attempts < jobs+rounds {
		t.Error("hardly anything happened")
	}
}

// attemptToItsEnd runs one attempt, stops it or kills its agents after at most so
// many milliseconds, at any moment, and says whether the job has ended.
func (h *harness) attemptToItsEnd(r *rand.Rand, longest int) bool {
	h.t.Helper()
	h.write()
	before := len(h.endings())
	for kills := r.IntN(3); ; kills-- {
		agent := h.spawn()
		gone := make(chan error, 1)
		go func() { gone <- agent.Wait() }()
		time.Sleep(time.Duration(r.IntN(longest)) * time.Millisecond)
		if r.IntN(2) == 0 {
			h.order(wire.Order{Kind: wire.Stop, By: core.AtSecond(1600)})
			time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
		}
		if kills > 0 {
			_ = agent.Process.Kill()
			<-gone
			continue
		}
		if err := <-gone; err != nil {
			h.t.Fatalf("an agent failed: %v", err)
		}
		list := h.endings()
		if len(list) != before+1 {
			h.t.Fatalf("an attempt told its end %d times: %s", len(list)-before, kinds(list))
		}
		return list[before].Kind == wire.Ended
	}
}

// newestSaved are the checkpoints that the broker would keep, newest first.
func (h *harness) newestSaved() (saved []wire.Saved) {
	for _, m := range h.all(wire.Checkpoint, wire.Left) {
		if m.Saved != nil {
			saved = append([]wire.Saved{*m.Saved}, saved...)
		}
	}
	return saved[:min(3, len(saved))]
}
