package local

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
	"github.com/godwit-hpc/godwit/internal/host/proctable"
	"github.com/godwit-hpc/godwit/internal/protocol/selfreport"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

func idOf(a *wire.Attempt) driver.ID { return driver.AttemptID(a) }

func (w *world) folder(a *wire.Attempt) string {
	return filepath.Join(w.opt.Dir, attemptdir.FolderName(idOf(a)))
}

func TestAnAgentThatComesUpAfterTheReleaseStartsNothing(t *testing.T) {
	w := newWorld(t, nil)
	for _, slow := range []string{"1ms", "30ms", "100ms", "600ms"} {
		a := w.AttemptFor(drivertest.Ends)
		a.Spec.Env["STANDIN_SLOW"] = slow
		d := w.open()
		if err := d.StartAttempt(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if !isCalledWith(w.folder(a)) && w.StartCount(a) == 0 {
			t.Errorf("%s: there is no agent on %s", slow, w.folder(a))
		}
		// The next driver knows nothing of an agent that has not taken the lock.
		d = w.open()
		before := w.StartCount(a)
		if err := d.ReleaseAttempt(t.Context(), idOf(a)); err != nil {
			t.Fatal(err)
		}
		if slow == "600ms" && before > 0 {
			t.Log("this machine is slower than the slow agent")
		}
		before = w.StartCount(a)
		clocktest.WaitFor(t, "the end of the agent", func() bool { return !isCalledWith(w.folder(a)) })
		if n := w.StartCount(a); n != before {
			t.Errorf("%s: the program began after the release", slow)
		}
		if w.LivingProcesses(a) > 0 || attemptdir.HasFile(w.folder(a)) {
			t.Errorf("%s: something is left", slow)
		}
	}
}

// isCalledWith says whether there is a process with such an argument.
func isCalledWith(argument string) bool {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is a good one
	return slices.ContainsFunc(lines, func(line string) bool {
		text, err := os.ReadFile(line)
		return err == nil && strings.Contains("\x00"+string(text), "\x00"+argument+"\x00")
	})
}

func TestAnAgentThatCannotRunIsToldAndTriedEverMoreRarely(t *testing.T) {
	w := newWorld(t, nil)
	d, a := w.open(), w.AttemptFor(drivertest.Ends)
	a.Spec.Env["STANDIN_BROKEN"] = "1"
	began := time.Now()
	if err := d.StartAttempt(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	why := ""
	clocktest.WaitFor(t, "the failure to be told",
		func() bool { why, _ = d.ExplainWait(t.Context(), idOf(a)); return why != "" })
	if !strings.Contains(why, "exit code 1") || !strings.Contains(why, "this agent is broken") {
		t.Errorf("told was %s", why)
	}
	log, err := os.ReadFile(filepath.Join(w.folder(a), attemptdir.LogFile)) // what all of them said
	if err != nil {
		t.Fatal(err)
	}
	took, pauses := time.Since(began), time.Duration(0)
	n := bytes.Count(log, []byte("broken"))
	for k := range n {
		pauses += restartDelay(k)
	}
	if n < failuresUntilReport || pauses > took {
		t.Errorf("%d agents were tried within %v; the pauses between them are %v", n, took, pauses)
	}
}

func TestPausesGrowUpToABound(t *testing.T) {
	sum := time.Duration(0)
	for n := 1; n < 100; n++ {
		p := restartDelay(n)
		if n <= 1 && p != 0 || p > maxRestartDelay || p < restartDelay(n-1) {
			t.Errorf("the pause after %d failures is %v", n, p)
		}
		if n < failuresUntilReport {
			sum += p
		}
	}
	if restartDelay(99) != maxRestartDelay || sum > 5*time.Second {
		t.Errorf("the longest pause is %v; until it is told %v pass", restartDelay(99), sum)
	}
}

func TestAnAgentWhoseBinaryIsGoneIsAnErrorOfStart(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "agent")
	if err := os.Link(self, binary); err != nil {
		data, err := os.ReadFile(self)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(binary, data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld(t, func(o *Options) { o.Agent = []string{binary, "agent"} })
	d, a := w.open(), w.AttemptFor(drivertest.Stays)
	away := binary + ".away"
	if err := os.Rename(binary, away); err != nil {
		t.Fatal(err)
	}
	if err := d.StartAttempt(t.Context(), a); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), binary) {
		t.Errorf("got %v", err)
	}
	if err := os.Rename(away, binary); err != nil {
		t.Fatal(err)
	}
	if err := d.StartAttempt(t.Context(), a); err != nil {
		t.Error(err)
	}
	clocktest.WaitFor(t, "the program to begin", func() bool { return w.StartCount(a) == 1 })
	// And one that goes away while its agents are needed does not lose the attempt.
	if err := os.Rename(binary, away); err != nil {
		t.Fatal(err)
	}
	w.KillAgent(a)
	clocktest.WaitFor(t, "an agent that cannot be started", func() bool {
		r := d.attemptRecord(idOf(a), false)
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.failures > 1
	})
	if err := os.Rename(away, binary); err != nil {
		t.Fatal(err)
	}
	clocktest.WaitFor(t, "the loss to be heard", func() bool { return heard(w, a, wire.Lost) == 1 })
}

func heard(w *world, a *wire.Attempt, k wire.Kind) int {
	n := 0
	for _, m := range w.HeardMessages(a) {
		if m.Kind == k {
			n++
		}
	}
	return n
}

func TestAFolderThatCannotBeMadeIsAnErrorOfStart(t *testing.T) {
	w := newWorld(t, nil)
	d, a := w.open(), w.AttemptFor(drivertest.Ends)
	away := w.opt.Dir + ".away"
	if err := os.Rename(w.opt.Dir, away); err != nil {
		t.Fatal(err)
	}
	if err := d.StartAttempt(t.Context(), a); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := os.Rename(away, w.opt.Dir); err != nil {
		t.Fatal(err)
	}
	if err := d.StartAttempt(t.Context(), a); err != nil {
		t.Error(err)
	}
	clocktest.WaitFor(t, "the end to be heard", func() bool { return heard(w, a, wire.Ended) == 1 })
}

func TestAFileThatAPowerFailureEmptiedIsWrittenAgain(t *testing.T) {
	w := newWorld(t, nil)
	a := w.AttemptFor(drivertest.Ends)
	if err := os.MkdirAll(w.folder(a), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.folder(a), attemptdir.AttemptFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := w.open()
	if err := d.StartAttempt(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	clocktest.WaitFor(t, "the end to be heard", func() bool { return heard(w, a, wire.Ended) == 1 })
}

func TestWhatEndedWellIsNotStartedAgainAndNoZombieIsLeft(t *testing.T) {
	w := newWorld(t, nil)
	d := w.open()
	agents := map[int]bool{}
	for range 5 {
		a := w.AttemptFor(drivertest.Ends)
		if err := d.StartAttempt(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		record := d.attemptRecord(idOf(a), false)
		clocktest.WaitFor(t, "a clean end", func() bool {
			record.mu.Lock()
			defer record.mu.Unlock()
			return record.clean && record.runningAgent() == nil && record.failures == 0
		})
		agents[record.agent.pid] = true
	}
	all, err := proctable.AllProcesses()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if agents[p.Pid] && p.Parent == os.Getpid() {
			t.Errorf("%s (%d) is a zombie", p.Name, p.Pid)
		}
	}
}

func TestALockThatAStrangerHoldsIsAnError(t *testing.T) {
	w := newWorld(t, nil)
	d, a := w.open(), w.AttemptFor(drivertest.Ends)
	if err := os.Mkdir(w.folder(a), 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := attemptdir.TakeLock(w.folder(a))
	if err != nil || lock == nil {
		t.Fatal(lock, err)
	}
	if err := d.StartAttempt(t.Context(), a); err == nil || !strings.Contains(err.Error(), "no agent") {
		t.Errorf("got %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.StartAttempt(t.Context(), a); err != nil {
		t.Error(err)
	}
	clocktest.WaitFor(t, "the end to be heard", func() bool { return heard(w, a, wire.Ended) == 1 })
}

func TestANumberThatBelongsToAnotherProcessIsNoAgent(t *testing.T) {
	dir := t.TempDir()
	for _, pid := range []int{0, -1, 1, os.Getpid(), 1 << 30} {
		if p := agentOn(dir, pid, time.Time{}); p != nil {
			t.Errorf("%d is taken for an agent", pid)
		}
	}
}

func TestWhatWasHalfRemovedGoes(t *testing.T) {
	w := newWorld(t, nil)
	w.open()
	w.Close()
	half := filepath.Join(w.opt.Dir, "trash", "3.1", "work", "closed")
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(half, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(half, 0o500); err != nil {
		t.Fatal(err)
	}
	w.open()
	if attemptdir.HasFile(filepath.Join(w.opt.Dir, "trash", "3.1")) {
		t.Error("it is still there")
	}
}

func TestWhatWasHalfReleasedLeavesNoCgroup(t *testing.T) {
	w := newWorld(t, nil)
	d, a := w.open(), w.AttemptFor(drivertest.Stays)
	if err := d.StartAttempt(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	clocktest.WaitFor(t, "the program to begin", func() bool { return w.StartCount(a) == 1 })
	w.Close()
	if err := os.WriteFile(filepath.Join(w.folder(a), attemptdir.FenceFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// And one of which nothing but a cgroup was made.
	g, _ := newGroups(&w.opt)
	if _, err := g.createGroup("77.1", &wire.Attempt{Procs: 1}); err != nil {
		t.Fatal(err)
	}
	d = w.open()
	if err := d.ReleaseAttempt(t.Context(), idOf(a)); err != nil {
		t.Fatal(err)
	}
	if w.LivingProcesses(a) > 0 {
		t.Error("it lives on")
	}
	noCgroupsLeft(t, w.opt)
}

// Whatever is killed whenever: every program begins at most once, and of each
// attempt that is not released exactly one end is heard.
func TestWhateverIsKilledEveryAttemptEndsOnce(t *testing.T) {
	t.Run("StandIn", func(t *testing.T) { killAtRandom(t, newWorld(t, nil)) })
	t.Run("RealAgent", func(t *testing.T) { killAtRandom(t, newWorld(t, withRealAgent)) })
}

func withRealAgent(o *Options) { o.Agent = []string{"/proc/self/exe", "real-agent"} }

func killAtRandom(t *testing.T, w *world) {
	rng := rand.New(rand.NewPCG(3, 4))
	const jobs = 40
	d := w.open()
	released := map[*wire.Attempt]bool{}
	for range jobs {
		a := w.AttemptFromLine(`echo began >> "$NOTES"; exec sleep 0.` + string(rune('0'+rng.IntN(6))))
		a.Spec.Env["STANDIN_SLOW"] = "2" + string(rune('0'+rng.IntN(10))) + "ms"
		if err := d.StartAttempt(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			victim := w.Attempts()[rng.IntN(len(w.Attempts()))]
			switch rng.IntN(8) {
			case 0:
				w.SetDeaf(true)
			case 1:
				w.SetDeaf(false)
			case 2:
				d = w.open()
			case 3, 4, 5:
				if p := agentOn(w.folder(victim), attemptdir.LockHolder(w.folder(victim)), time.Time{}); p != nil {
					p.sendSignal(9)
					p.stopWaiting()
				}
			case 6:
				if err := d.StartAttempt(t.Context(), victim); err != nil && !released[victim] {
					t.Error(err)
				}
			case 7:
				if rng.IntN(4) == 0 {
					released[victim] = true
					if err := d.ReleaseAttempt(t.Context(), idOf(victim)); err != nil {
						t.Error(err)
					}
				}
			}
			time.Sleep(time.Duration(rng.IntN(15)) * time.Millisecond) // the next comes at any moment
		}
	}
	w.SetDeaf(false)
	for _, a := range w.Attempts() {
		if !released[a] {
			_ = d.StartAttempt(t.Context(), a) // as a broker does after a restart
			clocktest.WaitFor(t, "an end to be heard", func() bool { return heard(w, a, wire.Ended)+heard(w, a, wire.Lost) > 0 })
		}
	}
	for _, a := range w.Attempts() {
		n := heard(w, a, wire.Ended) + heard(w, a, wire.Lost)
		if w.StartCount(a) > 1 || n > 1 || n < 1 && !released[a] || w.LivingProcesses(a) > 0 {
			t.Errorf("job %d began %d times, ended %d times, released: %v, %d live: %+v", a.Job, w.StartCount(a), n, released[a],
				w.LivingProcesses(a), w.HeardMessages(a))
		}
	}
}

func TestWhatAKilledAgentLeftInMemoryIsRemoved(t *testing.T) {
	w := newWorld(t, nil)
	d := w.open()
	a := w.AttemptFor(drivertest.Stays)
	folder := selfreport.FolderPath(selfreport.MemoryFolder, a.Mark)
	if err := os.Mkdir(folder, 0o700); err != nil { // as the agent makes it
		t.Fatal(err)
	}
	if err := d.StartAttempt(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	clocktest.WaitFor(t, "the program to begin", func() bool { return w.StartCount(a) == 1 })
	w.KillAgent(a)
	if err := d.ReleaseAttempt(t.Context(), idOf(a)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", folder, err)
	}
}

// The next driver on a folder watches the agent that the last one started, and starts
// none beside it.
func TestADriverTakesOverTheAgentThatLives(t *testing.T) {
	w := newWorld(t, nil)
	a := w.AttemptFor(drivertest.Stays)
	if err := w.open().StartAttempt(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	clocktest.WaitFor(t, "the program to begin", func() bool { return w.StartCount(a) == 1 })
	holder := attemptdir.LockHolder(w.folder(a))
	d := w.open()
	if err := d.StartAttempt(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if p := d.attemptRecord(idOf(a), false).runningAgent(); p == nil || p.pid != holder {
		t.Errorf("the agent that lives is process %d, watched is %+v", holder, p)
	}
	if n := w.StartCount(a); n != 1 {
		t.Errorf("the program began %d times", n)
	}
}
