package batch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/godwit-hpc/godwit/internal/agent"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/driver/batch/batchtest"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

func TestMain(m *testing.M) {
	batchtest.ActAsAgent(agent.RunGuard, agent.RunAgent)
	goleak.VerifyTestMain(m)
}

func newWorld(t testing.TB, change func(*batch.Options)) (*batchtest.World, *pretender) {
	t.Helper()
	p := &pretender{}
	t.Cleanup(p.running.Wait) // after all was released
	return batchtest.New(t, t.TempDir(), p, change), p
}

func TestConformance(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) drivertest.World { w, _ := newWorld(t, nil); return w })
}

var errPassing = errors.New("it passes")

func failFirst(times int, err error) func(int) error {
	return func(n int) error {
		if n <= times {
			return err
		}
		return nil
	}
}

// Whatever fails on the way, a submission comes about, and the program runs once.
func TestASubmissionComesAboutWhateverFails(t *testing.T) {
	away := fmt.Errorf("%w: nobody there", driver.ErrAway)
	for name, c := range map[string]struct {
		fail func(*pretender)
		jobs int // that the manager may have got
	}{
		"it does not arrive":  {func(p *pretender) { p.before = failFirst(2, errPassing) }, 1},
		"the manager is away": {func(p *pretender) { p.before = failFirst(2, away) }, 1},
		"its answer is lost":  {func(p *pretender) { p.after = failFirst(1, errPassing) }, 1},
		"and nobody can be asked": {func(p *pretender) {
			p.after, p.queue = failFirst(1, errPassing),
				failFirst(3, errPassing)
		}, 1},
		"it waits, and its answer is lost":   {func(p *pretender) { p.after, p.hold = failFirst(1, errPassing), true }, 1},
		"the manager says it is away, wrong": {func(p *pretender) { p.after = failFirst(1, away) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w, p := newWorld(t, nil)
			c.fail(p)
			d, a := w.OpenBatch(), w.AttemptFor(drivertest.Ends)
			if err := d.StartAttempt(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			p.release()
			w.WaitUntil("the end to be heard", func() bool { return w.CountMessages(a, wire.Ended) == 1 })
			p.mu.Lock()
			if len(p.jobs) > c.jobs {
				t.Errorf("the manager got %d jobs", len(p.jobs))
			}
			p.mu.Unlock()
			if err := d.ReleaseAttempt(t.Context(), batchtest.AttemptID(a)); err != nil {
				t.Error(err)
			}
			if w.StartCount(a) != 1 || w.CountMessages(a, wire.Ended) != 1 || w.CountMessages(a, wire.Lost) != 0 {
				t.Errorf("it began %d times; heard %+v", w.StartCount(a), w.HeardMessages(a))
			}
		})
	}
}

// A crash of the broker is a driver that ends in the middle of StartAttempt.
func TestACrashOnTheWayDoesNotSubmitTwice(t *testing.T) {
	for name, c := range map[string]struct {
		crash func(t *testing.T, w *batchtest.World, p *pretender, a *wire.Attempt)
		jobs  int
	}{
		"the folder is there, and nothing in it": {func(t *testing.T, w *batchtest.World, _ *pretender, a *wire.Attempt) {
			if err := os.MkdirAll(w.AttemptFolder(a), 0o700); err != nil {
				t.Fatal(err)
			}
		}, 1},
		"the file is empty": {func(t *testing.T, w *batchtest.World, _ *pretender, a *wire.Attempt) {
			if err := errors.Join(os.MkdirAll(w.AttemptFolder(a), 0o700),
				os.WriteFile(filepath.Join(w.AttemptFolder(a), "attempt.json"), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}, 1},
		"not yet submitted": {func(t *testing.T, w *batchtest.World, p *pretender, a *wire.Attempt) {
			p.before = func(int) error { return errPassing }
			startBriefly(t, w, p, a)
			p.before = nil
		}, 1},
		"submitted, not written down, it waits": {func(t *testing.T, w *batchtest.World, p *pretender, a *wire.Attempt) {
			p.hold = true
			p.after, p.queue = func(int) error { return errPassing }, func(int) error { return errPassing }
			startBriefly(t, w, p, a)
			p.after, p.queue = nil, nil
		}, 1},
		"submitted, not written down, it has ended": {func(t *testing.T, w *batchtest.World, p *pretender, a *wire.Attempt) {
			p.after, p.queue = func(int) error { return errPassing }, func(int) error { return errPassing }
			startBriefly(t, w, p, a)
			w.WaitUntil("its end", func() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.jobs[0].gone })
			p.after, p.queue = nil, nil
		}, 1},
		"submitted, written down by half": {func(t *testing.T, w *batchtest.World, p *pretender, a *wire.Attempt) {
			p.hold = true
			if err := w.OpenBatch().StartAttempt(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(filepath.Join(w.AttemptFolder(a), "submitted.json"), 3); err != nil {
				t.Fatal(err)
			}
		}, 1},
		"submitted and written down": {func(t *testing.T, w *batchtest.World, p *pretender, a *wire.Attempt) {
			p.hold = true
			if err := w.OpenBatch().StartAttempt(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, p := newWorld(t, nil)
			a := w.AttemptFor(drivertest.Ends)
			w.OpenBatch()
			c.crash(t, w, p, a)
			d := w.OpenBatch()
			if err := d.StartAttempt(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			p.release()
			w.WaitUntil("the end to be heard", func() bool { return w.CountMessages(a, wire.Ended) == 1 })
			if len(p.jobs) != c.jobs || w.StartCount(a) != 1 || w.CountMessages(a, wire.Lost) != 0 {
				t.Errorf("%d jobs; it began %d times; heard %+v", len(p.jobs), w.StartCount(a), w.HeardMessages(a))
			}
		})
	}
}

// startBriefly gives up after the first try.
func startBriefly(t *testing.T, w *batchtest.World, p *pretender, a *wire.Attempt) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p.answered = cancel
	defer func() { p.answered = nil }()
	if err := w.OpenBatch().StartAttempt(ctx, a); err == nil || errors.Is(err, driver.ErrAway) {
		t.Errorf("got %v of a submission whose fate is not known", err)
	}
	w.Close()
}

func TestARefusalIsFinalAndLeavesNothing(t *testing.T) {
	w, p := newWorld(t, nil)
	p.before = func(int) error { return fmt.Errorf("%w: no such queue", driver.ErrRefused) }
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Ends)
	if err := d.StartAttempt(t.Context(), a); !errors.Is(err, driver.ErrRefused) ||
		!strings.Contains(err.Error(), "no such queue") {
		t.Errorf("got %v", err)
	}
	if found, err := d.FindAttempts(t.Context()); err != nil || len(found) > 0 || p.called("submit") != 1 {
		t.Errorf("found %v, %v after %d tries", found, err, p.called("submit"))
	}
	p.before = nil
	if err := d.StartAttempt(t.Context(), a); err != nil { // the settings were mended
		t.Error(err)
	}
	w.WaitUntil("the end to be heard", func() bool { return w.CountMessages(a, wire.Ended) == 1 })
}

func TestAnAttemptThatCertainlyWasNotTakenMayGoElsewhere(t *testing.T) {
	w, p := newWorld(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.before = func(int) error {
		cancel() // nobody waits any longer than for the first try
		return fmt.Errorf("%w: nobody there", driver.ErrAway)
	}
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Ends)
	if err := d.StartAttempt(ctx, a); !errors.Is(err, driver.ErrAway) {
		t.Errorf("got %v", err)
	}
	if found, err := d.FindAttempts(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestAReleaseDoesNotWaitForASubmissionThatDoesNotComeAbout(t *testing.T) {
	w, p := newWorld(t, nil)
	p.before = func(int) error { return errPassing }
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Ends)
	started := make(chan error, 1)
	go func() { started <- d.StartAttempt(t.Context(), a) }()
	w.WaitUntil("a try", func() bool { return p.called("submit") > 0 })
	if err := d.ReleaseAttempt(t.Context(), batchtest.AttemptID(a)); err != nil {
		t.Error(err)
	}
	if err := <-started; err == nil {
		t.Error("it says that it was started")
	}
}

func TestAJobThatComesAboutAfterTheReleaseIsEnded(t *testing.T) {
	w, p := newWorld(t, func(o *batch.Options) { o.Poll = 20 * time.Millisecond })
	p.hold = true
	d, a, other := w.OpenBatch(), w.AttemptFor(drivertest.Ends), w.AttemptFor(drivertest.Ends)
	mustStart(t, d, a)
	mustStart(t, d, other)
	if err := d.ReleaseAttempt(t.Context(), batchtest.AttemptID(a)); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	late := p.jobs[0].Request
	p.mu.Unlock()
	if _, err := p.SubmitJob(t.Context(), &late); err != nil {
		t.Fatal(err)
	}
	w.WaitUntil("it to be cancelled", func() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.jobs[2].gone })
	if p.jobs[1].gone {
		t.Error("another was cancelled")
	}
}

func mustStart(t *testing.T, d *batch.Driver, a *wire.Attempt) {
	t.Helper()
	if err := d.StartAttempt(t.Context(), a); err != nil {
		t.Fatal(err)
	}
}

func TestOldBinariesGoWhenNobodyNeedsThem(t *testing.T) {
	w, p := newWorld(t, nil)
	p.hold = true
	bin := filepath.Join(w.Options.Dir, "bin")
	old := time.Unix(1e9, 0)
	for _, name := range []string{"00000000000000aa", "00000000000000bb", "00000000000000cc", ".new-1", "notes"} {
		if err := os.MkdirAll(filepath.Join(bin, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if name != "00000000000000cc" {
			if err := os.Chtimes(filepath.Join(bin, name), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	user := w.AttemptFor(drivertest.Ends)
	if err := errors.Join(os.MkdirAll(w.AttemptFolder(user), 0o700),
		os.WriteFile(filepath.Join(w.AttemptFolder(user), "script"), []byte("exec "+bin+"/00000000000000aa/godwit"),
			0o600)); err != nil {
		t.Fatal(err)
	}
	mustStart(t, w.OpenBatch(), w.AttemptFor(drivertest.Ends))
	for name, want := range map[string]bool{"00000000000000aa": true, "00000000000000bb": false, "00000000000000cc": true,
		".new-1": false, "notes": true} {
		if got := attemptdir.HasFile(bin, name); got != want {
			t.Errorf("%s is there: %v", name, got)
		}
	}
}

func TestAtMostEightSubmitAtOnce(t *testing.T) {
	w, p := newWorld(t, nil)
	p.slow, p.hold = 20*time.Millisecond, true
	d := w.OpenBatch()
	var all sync.WaitGroup
	for range 40 {
		a := w.AttemptFor(drivertest.Ends)
		all.Go(func() {
			if err := d.StartAttempt(t.Context(), a); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if p.most > 8 || p.most < 2 {
		t.Errorf("%d at once", p.most)
	}
}

func TestTheManagerIsAskedOnlyWhileThereIsSomethingToWatch(t *testing.T) {
	w, p := newWorld(t, func(o *batch.Options) { o.Poll = 20 * time.Millisecond })
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Ends)
	time.Sleep(5 * w.Options.Poll) // in which nothing is asked
	if n := p.called("queue"); n != 0 {
		t.Errorf("asked %d times about nothing", n)
	}
	p.hold = true
	for range 20 { // however many there are
		if err := d.StartAttempt(t.Context(), w.AttemptFor(drivertest.Ends)); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.StartAttempt(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	before := p.called("queue")
	w.WaitUntil("five answers", func() bool { return p.called("queue") >= before+5 })
	if why, err := d.ExplainWait(t.Context(), batchtest.AttemptID(a)); err != nil ||
		!strings.Contains(why, "waits in the cluster's queue: Resources") {
		t.Errorf("%q, %v", why, err)
	}
	p.release()
	w.WaitUntil("all ends", func() bool {
		found, err := d.FindAttempts(t.Context())
		for _, f := range found {
			if !attemptdir.HasFile(w.Options.Dir, "attempts", attemptdir.FolderName(f.ID), "known") {
				return false
			}
		}
		return err == nil
	})
	var quiet int
	w.WaitUntil("silence", func() bool {
		before := p.called("queue")
		time.Sleep(5 * w.Options.Poll) // in which nothing is asked
		quiet = p.called("queue") - before
		return quiet == 0
	})
}

func TestAQuestionWithoutAnAnswerMeansNothing(t *testing.T) {
	w, p := newWorld(t, func(o *batch.Options) { o.Poll = 10 * time.Millisecond })
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Stays)
	if err := d.StartAttempt(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	w.WaitUntil("the program to begin", func() bool { return w.StartCount(a) == 1 })
	p.mu.Lock()
	p.queue = func(int) error { return errPassing }
	p.mu.Unlock()
	n := p.called("queue")
	w.WaitUntil("questions", func() bool { return p.called("queue") > n+3 })
	if why, _ := d.ExplainWait(t.Context(), batchtest.AttemptID(a)); !strings.Contains(why,
		"does not answer at present: it passes") {
		t.Errorf("%q", why)
	}
	// Ever more rarely.
	n = p.called("queue")
	began := time.Now()
	time.Sleep(300 * time.Millisecond) // in which hardly anything is asked
	if more, took := p.called("queue")-n, time.Since(began); more > 5+int(took/time.Second) {
		t.Errorf("asked %d times within %v", more, took)
	}
	if p.called("ended") != 0 || w.CountMessages(a, wire.Lost) != 0 {
		t.Error("it counts as lost")
	}
	p.mu.Lock()
	p.queue = nil
	p.mu.Unlock()
}

func TestWhatTheManagerLostIsReportedWithItsWords(t *testing.T) {
	for name, c := range map[string]struct {
		how, want, cause string
	}{
		"known":     {"NODE_FAIL", "the cluster ended job 100: NODE_FAIL", jobfile.NodeFail},
		"forgotten": {"FORGOTTEN", "does not say why", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, p := newWorld(t, nil)
			p.hold, p.ended = true, failFirst(2, errPassing)
			d, a := w.OpenBatch(), w.AttemptFor(drivertest.Ends)
			if err := d.StartAttempt(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			p.lose(c.how)
			w.WaitUntil("the loss to be heard", func() bool { return w.CountMessages(a, wire.Lost) == 1 })
			m := w.HeardMessages(a)
			if last := m[len(m)-1]; !strings.Contains(last.Why, c.want) || strings.Contains(last.Why, "\n") ||
				last.Cause != c.cause {
				t.Errorf("%q, %q", last.Why, last.Cause)
			}
			p.release() // a manager that was wrong
			if err := d.StartAttempt(t.Context(), a); err != nil {
				t.Error(err)
			}
			if w.StartCount(a) != 0 {
				t.Error("what was reported lost began")
			}
		})
	}
}

// A folder that only the driver's host has looks to the manager like a script that
// is not there.
func TestAScriptThatHostsDoNotFindIsToldSo(t *testing.T) {
	w, p := newWorld(t, func(o *batch.Options) { o.Poll = 10 * time.Millisecond })
	p.hold = true
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Ends)
	mustStart(t, d, a)
	if err := os.WriteFile(p.jobs[0].Script, []byte("#!/bin/sh\nexec /nowhere/godwit\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.release()
	w.WaitUntil("the loss to be heard", func() bool { return w.CountMessages(a, wire.Lost) == 1 })
	m := w.HeardMessages(a)
	if why := m[len(m)-1].Why; !strings.Contains(why, "exit code 127") || !strings.Contains(why, "/nowhere") ||
		!strings.Contains(why, "do all hosts of the cluster see /") {
		t.Errorf("%q", why)
	}
}

func TestAJobThatWouldWaitForEverIsGivenUp(t *testing.T) {
	w, p := newWorld(t, func(o *batch.Options) { o.Poll = 10 * time.Millisecond })
	p.hold, p.hopeless = true, true
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Ends)
	mustStart(t, d, a)
	w.WaitUntil("the loss to be heard", func() bool { return w.CountMessages(a, wire.Lost) == 1 })
	cancelled := func() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.jobs[0].gone }
	w.WaitUntil("its job to be cancelled", cancelled)
	if m := w.HeardMessages(a); m[len(m)-1].Why != "the cluster would never begin job 100: Resources" ||
		p.called("queue") < 12 {
		t.Errorf("%+v after %d answers", m, p.called("queue"))
	}
}

// Slurm takes a host for dead whose daemon was killed; what runs there runs on.
func TestAnAttemptWhoseAgentLivesIsAliveWhateverTheManagerSays(t *testing.T) {
	w, p := newWorld(t, func(o *batch.Options) { o.Poll = 20 * time.Millisecond })
	d := w.OpenBatch()
	a := w.AttemptFromLine(`echo began >> "$NOTES"; until [ -e "$NOTES.go" ]; do sleep 0.02; done; exit 5`)
	if err := d.StartAttempt(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	w.WaitUntil("the program to begin", func() bool { return w.StartCount(a) == 1 })
	p.lose("NODE_FAIL")
	n := p.called("queue")
	w.WaitUntil("some answers", func() bool { return p.called("queue") > n+5 })
	if w.CountMessages(a, wire.Lost) != 0 || attemptdir.HasFile(w.AttemptFolder(a), attemptdir.LostFile) {
		t.Error("it is taken for lost")
	}
	d = w.OpenBatch()
	if found, err := d.FindAttempts(t.Context()); err != nil || len(found) != 1 || !found[0].Alive {
		t.Errorf("found %v, %v", found, err)
	}
	if err := os.WriteFile(w.Dir+"/notes.1.go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.WaitUntil("its end to be heard", func() bool { return w.CountMessages(a, wire.Ended) == 1 })
	if m := w.HeardMessages(a); m[len(m)-1].Code != 5 || w.StartCount(a) != 1 {
		t.Errorf("%+v", m)
	}
}

func TestWhatEndedUnheardIsToldWhenItsJobIsGone(t *testing.T) {
	w, _ := newWorld(t, func(o *batch.Options) { o.Poll = 20 * time.Millisecond })
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Stays)
	if err := d.StartAttempt(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	w.WaitUntil("the program to begin", func() bool { return w.StartCount(a) == 1 })
	w.SetDeaf(true)
	// The manager ends the job while nobody listens: all of its processes.
	w.Close()
	killAll(t, w, a)
	w.SetDeaf(false)
	w.OpenBatch()
	w.WaitUntil("the loss to be heard", func() bool { return w.CountMessages(a, wire.Lost) == 1 })
	if w.StartCount(a) != 1 || w.LivingProcesses(a) > 0 {
		t.Errorf("it began %d times, %d live", w.StartCount(a), w.LivingProcesses(a))
	}
}

// killAll ends the guard, the agent and the program as a manager does that knows
// no mercy.
func killAll(t *testing.T, w *batchtest.World, a *wire.Attempt) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range dirs {
		line, err := os.ReadFile(file)
		if err != nil || !strings.HasSuffix(string(line), "--guard\x00"+w.AttemptFolder(a)+"\x00") {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err != nil {
			t.Fatal(err)
		}
		p, err := os.FindProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		_ = p.Kill()
	}
	w.KillAgent(a)
}

func TestWhatAgentsAreTold(t *testing.T) {
	w, p := newWorld(t, func(o *batch.Options) { o.Time = 90 * time.Second })
	p.hold, p.longest = true, 3*time.Hour
	d := w.OpenBatch()
	for _, c := range []struct {
		time, want time.Duration
	}{{0, 2 * time.Minute}, {time.Hour, 67 * time.Minute}, {30 * time.Second, 2 * time.Minute},
		{5 * time.Hour, 3 * time.Hour}} {
		a := w.AttemptFor(drivertest.Ends)
		a.Broker, a.CPUs, a.Cgroup, a.Spec.Time, a.Procs, a.Spec.Memory = "else", []int{1}, "x", c.time, 4, 1<<30
		if err := d.StartAttempt(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		got, err := attemptdir.ReadAttempt(w.AttemptFolder(a))
		if err != nil {
			t.Fatal(err)
		}
		if got.Broker != w.Broker.Socket || got.CPUs != nil || got.Cgroup != "" || got.Limit != c.want || got.Mark != a.Mark {
			t.Errorf("%+v", got)
		}
		r := p.jobs[len(p.jobs)-1]
		if r.Need != (driver.Need{Procs: 4, Nodes: 1, Memory: 1 << 30, Time: c.want}) {
			t.Errorf("asked for %+v", r.Need)
		}
	}
	text, err := os.ReadFile(p.jobs[0].Script)
	if err != nil || !strings.Contains(string(text), `/it'\''s $(here)/bin/`) ||
		!strings.Contains(string(text), "\nexec '") || strings.Contains(string(text), "NOTES") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestWithoutALimitTheManagersOwnIsTold(t *testing.T) {
	w, p := newWorld(t, nil)
	p.hold, p.usual = true, time.Hour
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Ends)
	if err := d.StartAttempt(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if got, err := attemptdir.ReadAttempt(w.AttemptFolder(a)); err != nil || got.Limit != time.Hour ||
		p.jobs[0].Time != 0 {
		t.Errorf("told %v, asked for %v, %v", got.Limit, p.jobs[0].Time, err)
	}
}

// What users write reaches their program as they wrote it, and nothing on the way.
func TestWhatUsersWriteArrivesVerbatim(t *testing.T) {
	w, _ := newWorld(t, nil)
	batchtest.CheckVerbatim(t, w)
}

func TestAnswersServeForAWhile(t *testing.T) {
	w, p := newWorld(t, func(o *batch.Options) { o.Poll = time.Minute })
	d := w.OpenBatch()
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			l, err := d.MeasureLoad(t.Context())
			if err != nil || l.Share != 1 || l.Why != "3 of 4 cores free, 3 jobs pending" {
				t.Errorf("%+v, %v", l, err)
			}
			for procs := 1; procs < 3; procs++ {
				if got, err := d.EstimateWait(t.Context(), driver.Need{Procs: procs}); err != nil || got.Why != fmt.Sprint(procs) ||
					!got.Known {
					t.Errorf("%+v, %v", got, err)
				}
			}
		})
	}
	all.Wait()
	if p.called("survey") != 1 || p.called("wait") != 2 {
		t.Errorf("asked %v", p.calls)
	}
}

func TestAFolderThatCannotStandInAScriptIsRefused(t *testing.T) {
	if _, err := batch.New(batch.Options{Cluster: "c", Dir: "/tmp/a\nb"}, &pretender{}); err == nil {
		t.Error("it is taken")
	}
}

func TestManyAreReleasedWithFewQuestions(t *testing.T) {
	w, p := newWorld(t, func(o *batch.Options) { o.Poll = time.Hour })
	p.hold, p.tardy = true, 100*time.Millisecond // so that the others ask meanwhile
	d := w.OpenBatch()
	var ids []driver.ID
	for range 100 {
		a := w.AttemptFor(drivertest.Ends)
		if err := d.StartAttempt(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, batchtest.AttemptID(a))
	}
	var all sync.WaitGroup
	for _, id := range ids {
		all.Go(func() {
			if err := d.ReleaseAttempt(t.Context(), id); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if p.called("cancel") > 60 || p.called("queue") > 60 {
		t.Errorf("%v", p.calls)
	}
}

func TestOneLineOfJSON(t *testing.T) { // submitted.json is read by people too
	w, p := newWorld(t, nil)
	p.hold = true
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Ends)
	if err := d.StartAttempt(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(w.AttemptFolder(a), "submitted.json"))
	var got map[string]string
	if err != nil || json.Unmarshal(data, &got) != nil || got["job"] != "100" {
		t.Errorf("%s, %v", data, err)
	}
}
