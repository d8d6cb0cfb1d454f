package gridengine_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/batch/batchtest"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
	"github.com/godwit-hpc/godwit/internal/driver/gridengine"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// All of this runs on one cell of two hosts with four slots each, as an ordinary
// user on its head.
func TestOnARealGridEngine(t *testing.T) {
	if !batchtest.IsInside() {
		run := flag.Lookup("test.run").Value.String()
		if !strings.Contains(run, t.Name()) { // else it may name one of those below
			run = "^" + t.Name() + "$"
		}
		t.Log(onACell(t, 2, 4, "-test.run="+run, "-test.v"))
		return
	}
	t.Run("AnExecdThatDiesTakesNothingAlong", execdKilled)
	t.Run("Conformance", func(t *testing.T) {
		drivertest.Run(t, func(t *testing.T) drivertest.World { return newWorld(t, gridengine.Options{}, nil) })
	})
	t.Run("WhatUsersWriteArrivesVerbatim",
		func(t *testing.T) { batchtest.CheckVerbatim(t, newWorld(t, gridengine.Options{}, nil)) })
	for _, c := range []struct {
		name string
		test func(*testing.T)
	}{
		{"TheCellIsSurveyed", surveyed},
		{"WhatOthersHoldIsCounted", othersCounted},
		{"WhatTheCellWillNeverDoIsRefused", refused},
		{"GridEngineIsToldWhatScriptsForItSay", told},
		{"FilesOfRequestsDoNotMeddle", requestFiles},
		{"AJobOfSeveralProcessorsRuns", parallel},
		{"AJobThatAnAdministratorDeletedIsLost", deleted},
		{"AJobThatCannotBeStartedIsLost", broken},
		{"AJobThatReachesTheTimeLimitIsLost", timeLimit},
		// Last, as an execd looks for a new qmaster twice a minute at most.
		{"AQmasterThatIsAwayForAWhileLosesAndDoublesNothing", restarted},
	} {
		t.Run(c.name, c.test)
	}
}

// start starts attempts.
func start(t *testing.T, d driver.Driver, all ...*wire.Attempt) {
	t.Helper()
	for _, a := range all {
		if err := d.StartAttempt(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
}

// jobOf is the number of an attempt's job.
func jobOf(t *testing.T, w *batchtest.World, a *wire.Attempt) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(w.AttemptFolder(a), "submitted.json"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Trim(string(data), "{\"job:}\n ")
}

// lost waits until the attempt is reported lost, and looks for words of why.
func lost(t *testing.T, w *batchtest.World, a *wire.Attempt, words string) {
	t.Helper()
	w.WaitUntil("the loss to be heard", func() bool { return w.CountMessages(a, wire.Lost) == 1 })
	all := w.HeardMessages(a)
	if why := all[len(all)-1].Why; !strings.Contains(why, words) {
		t.Errorf("lost because of %q, which does not say %q", why, words)
	}
}

func surveyed(t *testing.T) {
	w := newWorld(t, gridengine.Options{PE: "mpi"}, nil)
	d := w.OpenBatch()
	s, err := d.SurveyHosts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Hosts) != 2 || s.TotalProcs() != 8 || !strings.HasPrefix(s.Manager, "Grid Engine 8.") ||
		s.Hosts[0].Memory == 0 ||
		len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "$fill_up") {
		t.Errorf("%+v", s)
	}
	for _, c := range []struct {
		procs int
		known bool
	}{{1, true}, {8, true}, {9, false}} {
		if wait, err := d.EstimateWait(t.Context(), driver.Need{Procs: c.procs}); err != nil || wait.Known != c.known ||
			wait.Seconds != 0 || wait.Why == "" {
			t.Errorf("%d processors: %+v, %v", c.procs, wait, err)
		}
	}
	for words, o := range map[string]gridengine.Options{"without": {}, "nosuch": {PE: "nosuch"},
		"nosuch.q": {Queue: "nosuch.q"}} {
		if s, err := newManager(t, o).SurveyHosts(t.Context()); err != nil || len(s.Notes) == 0 ||
			!strings.Contains(s.Notes[0], words) {
			t.Errorf("%+v: %+v, %v", o, s, err)
		}
	}
}

// Jobs that were handed in by hand, around us, hold slots that we cannot have; those of another driver of ours too. Those
// of several hosts count with the slots that they have on each.
func othersCounted(t *testing.T) {
	w, o := newWorld(t, gridengine.Options{PE: "mpi"}, nil), newWorld(t, gridengine.Options{}, nil)
	d, other := w.OpenBatch(), o.OpenBatch()
	ours, theirs := w.AttemptFor(drivertest.Stays), o.AttemptFor(drivertest.Stays)
	ours.Procs = 5
	start(t, d, ours)
	start(t, other, theirs)
	hand := ask(t, "qsub", "-terse", "-b", "y", "-o", "/dev/null", "-e", "/dev/null", "sleep", "1000")
	w.WaitUntil("all of them to be counted", func() bool {
		held := batchtest.FreshUsage(t, newManager(t, gridengine.Options{}))
		return held[d.JobPrefix()] == 5 && held[other.JobPrefix()] == 1 && held[""] == 1
	})
	// One that is deleted while it is on its way to its host may hold its slot for ever.
	w.WaitUntil("what was handed in by hand to run", func() bool { return stateOf(t, hand) == "r" })
	ask(t, "qdel", hand)
	w.WaitUntil("what was handed in by hand to count no more", func() bool {
		held := batchtest.FreshUsage(t, newManager(t, gridengine.Options{}))
		return held[d.JobPrefix()] == 5 && held[other.JobPrefix()] == 1 && held[""] == 0
	})
	if l, err := d.MeasureLoad(t.Context()); err != nil || l.Usage == nil || l.Usage.Procs != 8 {
		t.Errorf("%+v, %v", l.Usage, err)
	}
}

// ask runs a command of Grid Engine.
func ask(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", argv, err, out)
	}
	return strings.TrimSpace(string(out))
}

func refused(t *testing.T) {
	for _, c := range []struct {
		options gridengine.Options
		procs   int
		words   string
	}{
		{gridengine.Options{Queue: "nosuch.q"}, 1, "unknown queue"},
		{gridengine.Options{PE: "nosuch"}, 2, "parallel environment"},
		{gridengine.Options{}, 2, "parallel environment"},
		{gridengine.Options{PE: "mpi"}, 100, "no suitable queues"},
		{gridengine.Options{Options: []string{"-l", "nosuch=1"}}, 1, "nosuch"},
		{gridengine.Options{Options: []string{"--nosuch"}}, 1, "nosuch"},
	} {
		w := newWorld(t, c.options, nil)
		d, a := w.OpenBatch(), w.AttemptFor(drivertest.Ends)
		a.Procs = c.procs
		if err := d.StartAttempt(t.Context(), a); !errors.Is(err, driver.ErrRefused) ||
			!strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v", c, err)
		}
		if found, err := d.FindAttempts(t.Context()); err != nil || len(found) > 0 {
			t.Error("left behind:", found, err)
		}
	}
}

// What users and sites add to all jobs, and to all lists, is not for us.
func requestFiles(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{".sge_request": "-N evil -h -b y -q nosuch.q -t 1-3\n",
		".sge_qstat": "-u nobody -s z\n"} {
		path := filepath.Join(home, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(path)
	}
	w := newWorld(t, gridengine.Options{}, nil)
	d, a, b := w.OpenBatch(), w.AttemptFor(drivertest.Ends), w.AttemptFor(drivertest.Stays)
	start(t, d, a, b)
	w.WaitUntil("the end to be heard", func() bool { return w.CountMessages(a, wire.Ended) == 1 })
	w.WaitUntil("the other to begin", func() bool { return w.StartCount(b) == 1 })
	w.WaitUntil("the queue to say so", func() bool {
		why, err := d.ExplainWait(t.Context(), batchtest.AttemptID(b))
		return err == nil && strings.Contains(why, "runs on")
	})
}

func parallel(t *testing.T) {
	w := newWorld(t, gridengine.Options{PE: "mpi", Queue: "all.q"}, nil)
	d, a := w.OpenBatch(), w.AttemptFromLine(`echo began >> "$NOTES"; echo slots $NSLOTS >> "$NOTES"; exit 7`)
	a.Procs = 3
	a.Spec.Memory = 1 << 20
	start(t, d, a)
	w.WaitUntil("the end to be heard", func() bool { return w.CountMessages(a, wire.Ended) == 1 })
	if got := strings.Join(w.ReadNotes(a), " "); !strings.Contains(got, "began") {
		t.Error(got)
	}
}

func deleted(t *testing.T) {
	w := newWorld(t, gridengine.Options{PE: "mpi"}, nil)
	d := w.OpenBatch()
	running, waiting := w.AttemptFor(drivertest.Stays), w.AttemptFor(drivertest.Stays)
	running.Procs, waiting.Procs = 5, 5
	start(t, d, running)
	w.WaitUntil("the first to begin", func() bool { return w.StartCount(running) == 1 })
	start(t, d, waiting)
	w.WaitUntil("the queue to say why the second waits", func() bool {
		why, err := d.ExplainWait(t.Context(), batchtest.AttemptID(waiting))
		return err == nil && strings.Contains(why, "waits in the cluster's queue: ")
	})
	if wait, err := d.EstimateWait(t.Context(), driver.Need{Procs: 1}); err != nil || wait.Known {
		t.Errorf("%+v, %v", wait, err)
	}
	batchtest.DoOutside(t, "qdel", jobOf(t, w, waiting)+","+jobOf(t, w, running))
	lost(t, w, waiting, "deleted before it began")
	lost(t, w, running, "killed, as by qdel (signal 9)")
	if w.StartCount(waiting) != 0 || w.LivingProcesses(running) != 0 {
		t.Errorf("began %d times, %d live", w.StartCount(waiting), w.LivingProcesses(running))
	}
}

func broken(t *testing.T) {
	w := newWorld(t, gridengine.Options{Options: []string{"-wd", "/nosuch/folder"}}, nil)
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Ends)
	start(t, d, a)
	lost(t, w, a, "could not be started: can't chdir to /nosuch/folder")
	if w.StartCount(a) != 0 {
		t.Error("it was started")
	}
	if list, err := newManager(t, gridengine.Options{}).ListQueue(t.Context(), "gw-"); err != nil || len(list) > 0 {
		t.Error("left in the queue:", list, err)
	}
}

// stateOf is the state of a job of ours as qstat has it: r if it runs, t on its way to its host.
func stateOf(t *testing.T, job string) string {
	t.Helper()
	for line := range strings.Lines(ask(t, "qstat")) {
		if f := strings.Fields(line); len(f) > 4 && f[0] == job {
			return f[4]
		}
	}
	return ""
}

// The agent does not know of this limit.
func timeLimit(t *testing.T) {
	for limit := 2; ; limit *= 4 {
		h := fmt.Sprintf("h_rt=%d", limit)
		w := newWorld(t, gridengine.Options{Options: []string{"-l", h}}, nil)
		d, a := w.OpenBatch(), w.AttemptFor(drivertest.Hides)
		start(t, d, a)
		lost(t, w, a, "time limit "+h+" reached")
		if w.StartCount(a) == 0 && limit < 100 {
			continue // it counts from before the program begins, which takes longer where much is going on
		}
		if w.LivingProcesses(a) != 0 || w.StartCount(a) != 1 {
			t.Errorf("%d live, began %d times", w.LivingProcesses(a), w.StartCount(a))
		}
		return
	}
}

func restarted(t *testing.T) {
	w := newWorld(t, gridengine.Options{}, nil)
	d := w.OpenBatch()
	var all []*wire.Attempt
	for range 10 { // of which two wait
		all = append(all, w.AttemptUntilLetGo())
	}
	start(t, d, all...)
	began := func() (n int) {
		for _, a := range all {
			n += w.StartCount(a)
		}
		return n
	}
	w.WaitUntil("eight to begin", func() bool { return began() == 8 })
	batchtest.DoOutside(t, "stop")
	if _, err := d.SurveyHosts(t.Context()); !errors.Is(err, driver.ErrAway) {
		t.Errorf("got %v", err)
	}
	late := w.AttemptUntilLetGo()
	begun := make(chan error)
	go func() { begun <- d.StartAttempt(t.Context(), late) }()
	w.WaitUntil("the silence to be noticed", func() bool {
		why, err := d.ExplainWait(t.Context(), batchtest.AttemptID(all[0]))
		return err == nil && strings.Contains(why, "does not answer")
	})
	batchtest.DoOutside(t, "start") // and its hosts know: of jobs that end before, it would hear a minute later
	if err := <-begun; err != nil {
		t.Error(err)
	}
	start(t, d, all...) // as a broker does that is not sure
	if began() != 8 {
		t.Errorf("%d began", began())
	}
	w.LetGo()
	for _, a := range append(all, late) {
		w.WaitUntil("all ends to be heard", func() bool { return w.CountMessages(a, wire.Ended) == 1 })
		if w.StartCount(a) != 1 || w.CountMessages(a, wire.Lost) > 0 {
			t.Errorf("job %d began %d times: %+v", a.Job, w.StartCount(a), w.HeardMessages(a))
		}
	}
}

func execdKilled(t *testing.T) {
	w := newWorld(t, gridengine.Options{Queue: "all.q@n1"}, nil)
	d := w.OpenBatch()
	ends, stays := w.AttemptUntilLetGo(), w.AttemptFor(drivertest.Stays)
	start(t, d, ends, stays)
	w.WaitUntil("both to begin", func() bool { return w.StartCount(ends)+w.StartCount(stays) == 2 })
	batchtest.DoOutside(t, "kill", "n1")
	w.LetGo()
	w.WaitUntil("the end to be heard", func() bool { return w.CountMessages(ends, wire.Ended) == 1 })
	if w.LivingProcesses(stays) != 1 || w.CountMessages(stays, wire.Lost) > 0 {
		t.Errorf("%d live: %+v", w.LivingProcesses(stays), w.HeardMessages(stays))
	}
	done := make(chan error)
	go func() { done <- d.ReleaseAttempt(t.Context(), batchtest.AttemptID(stays)) }()
	batchtest.DoOutside(t, "revive", "n1")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := w.LivingProcesses(stays); n != 0 {
		t.Errorf("%d live", n)
	}
}
