// Package drivertest is the one suite that every driver passes: what a broker
// relies on when it starts, loses, finds and releases attempts. It must not know
// how a driver does it.
package drivertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// Program is what an attempt of the suite runs.
type Program int

// The programs.
const (
	Ends  Program = iota // at once, with exit code 7
	Stays                // until it is ended
	Hides                // as Stays, with a second process that tries not to be found: another session, no mark, no parent
)

// World is a driver and what is around it.
type World interface {
	// OpenDriver gives the driver. Called again it gives another one in its place, as
	// after a restart of the broker; attempts have run on meanwhile. Close takes
	// it away, with nobody in its place.
	OpenDriver() driver.Driver
	Close()
	// AttemptFor is a new attempt of a new job.
	AttemptFor(p Program) *wire.Attempt
	// StartCount is how often the attempt's program began.
	StartCount(a *wire.Attempt) int
	// LivingProcesses is how many processes of the program live.
	LivingProcesses(a *wire.Attempt) int
	// HeardMessages is what the broker heard of the attempt, without repetitions and
	// without Hello.
	HeardMessages(a *wire.Attempt) []wire.Message
	// SetDeaf makes the broker out of reach, or within reach again.
	SetDeaf(bool)
	// KillAgent ends the attempt's agent, and nothing else, as kill -9 does.
	KillAgent(a *wire.Attempt)
}

// testTimeout is how long the suite waits for what has to happen, settle for what
// must not.
const (
	testTimeout = 3 * time.Minute
	settleTime  = 300 * time.Millisecond
)

// Run runs the suite. make makes a world for one test and cleans it up after.
func Run(t *testing.T, make func(t *testing.T) World) {
	for _, c := range []struct {
		name string
		test func(*testing.T, World)
	}{
		{"AnAttemptRunsOnceHoweverOftenItIsStarted", runsOnce},
		{"TheEndOfAProgramIsReported", endIsReported},
		{"AnAgentThatDiesIsReplacedAndTheLossReported", lossIsReported},
		{"AnEndThatNobodyHeardIsReportedByTheNextAgent", unheardEnd},
		{"ReleaseEndsWhatRuns", releaseEnds},
		{"ReleaseEndsWhatHides", releaseEndsHidden},
		{"WhatWasReleasedNeverStarts", releasedNeverStarts},
		{"WhatIsUnknownCanBeReleased", releaseUnknown},
		{"ARestartedDriverFindsWhatRuns", restartFindsRunning},
		{"AnAgentThatDiesUnderTheNextDriverIsReplaced", lossUnderNextDriver},
		{"AnAgentThatDiedWhileNobodyWatchedIsReplaced", lossWithoutDriver},
		{"AttemptsDoNotDisturbEachOther", sideBySide},
		{"ThePartsOfAJobAreAttemptsOfTheirOwn", partsSideBySide},
		{"TheLoadIsAShare", loadIsAShare},
		{"AnOrderThatWasWithdrawnIsNotCarriedOut", testWithdrawn},
		{"WhatIsHeldForAnAttemptIsHeldOnceAndGivenBack", TestReservations},
		{"AnAttemptKeepsItsHostsUnlessToldOtherwise", testResizing},
		{"AnAttemptIsGivenMoreProcessorsAndGivesThemBack", testExtending},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, make(t)) })
	}
}

func runsOnce(t *testing.T, w World) {
	d, a := w.OpenDriver(), w.AttemptFor(Stays)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { mustStart(t, d, a) })
	}
	all.Wait()
	clocktest.WaitFor(t, "the program to begin", func() bool { return w.StartCount(a) > 0 })
	for range 3 {
		mustStart(t, d, a)
	}
	time.Sleep(settleTime)
	if n := w.StartCount(a); n != 1 {
		t.Errorf("the program began %d times", n)
	}
	mustRelease(t, d, a)
}

func endIsReported(t *testing.T, w World) {
	d, a := w.OpenDriver(), w.AttemptFor(Ends)
	mustStart(t, d, a)
	clocktest.WaitFor(t, "the end to be heard", func() bool { return lastKind(w.HeardMessages(a)) == wire.Ended })
	if m := w.HeardMessages(a); m[len(m)-1].Code != 7 {
		t.Errorf("exit code %d, want 7", m[len(m)-1].Code)
	}
	mustStart(t, d, a) // an order that was sent again
	time.Sleep(settleTime)
	if n := w.StartCount(a); n != 1 {
		t.Errorf("the program began %d times", n)
	}
	if n := countKind(w.HeardMessages(a), wire.Ended) + countKind(w.HeardMessages(a), wire.Lost); n != 1 {
		t.Errorf("%d ends were heard", n)
	}
	mustRelease(t, d, a)
}

func lossIsReported(t *testing.T, w World) {
	d, a := w.OpenDriver(), w.AttemptFor(Stays)
	mustStart(t, d, a)
	clocktest.WaitFor(t, "the program to begin", func() bool { return w.StartCount(a) > 0 })
	w.KillAgent(a)
	clocktest.WaitFor(t, "the loss to be heard", func() bool { return lastKind(w.HeardMessages(a)) == wire.Lost })
	if n := w.LivingProcesses(a); n != 0 {
		t.Errorf("%d processes of a lost attempt live", n)
	}
	if n := w.StartCount(a); n != 1 {
		t.Errorf("the program began %d times", n)
	}
	mustRelease(t, d, a)
}

func unheardEnd(t *testing.T, w World) {
	d := w.OpenDriver()
	for pause := settleTime; ; pause *= 3 {
		a := w.AttemptFor(Ends)
		w.SetDeaf(true)
		mustStart(t, d, a)
		clocktest.WaitFor(t, "the program to end", func() bool { return w.StartCount(a) > 0 && w.LivingProcesses(a) == 0 })
		time.Sleep(pause) // for the agent to write it down
		w.KillAgent(a)
		w.SetDeaf(false)
		clocktest.WaitFor(t, "the end to be heard",
			func() bool { k := lastKind(w.HeardMessages(a)); return k == wire.Ended || k == wire.Lost })
		m := w.HeardMessages(a)
		mustRelease(t, d, a)
		if lastKind(m) == wire.Lost && pause < 8*time.Second {
			continue // a machine that is busy may need longer
		}
		if lastKind(m) != wire.Ended || m[len(m)-1].Code != 7 || countKind(m, wire.Lost) > 0 || w.StartCount(a) != 1 {
			t.Errorf("heard %+v of a program that began %d times", m, w.StartCount(a))
		}
		return
	}
}

func releaseEnds(t *testing.T, w World) { releaseRunning(t, w, Stays) }

func releaseEndsHidden(t *testing.T, w World) { releaseRunning(t, w, Hides) }

func releaseRunning(t *testing.T, w World, p Program) {
	d, a := w.OpenDriver(), w.AttemptFor(p)
	mustStart(t, d, a)
	processes := 1
	if p == Hides {
		processes = 2
	}
	clocktest.WaitFor(t, "the program to begin",
		func() bool { return w.StartCount(a) > 0 && w.LivingProcesses(a) >= processes })
	if found := mustFind(t, d, a); !found.Alive {
		t.Errorf("found %+v of an attempt that runs", found)
	}
	mustRelease(t, d, a)
	if n := w.LivingProcesses(a); n != 0 {
		t.Errorf("%d processes live after the release", n)
	}
	if found := findAttempts(t, d); len(found) != 0 {
		t.Errorf("found %v after the release", found)
	}
	mustRelease(t, d, a)
	time.Sleep(settleTime)
	if m := w.HeardMessages(a); countKind(m, wire.Ended)+countKind(m, wire.Lost) > 0 {
		t.Errorf("heard %+v of an attempt that was released", m)
	}
}

func releasedNeverStarts(t *testing.T, w World) {
	d, a, never := w.OpenDriver(), w.AttemptFor(Ends), w.AttemptFor(Ends)
	mustRelease(t, d, never) // before it was ever started
	mustStart(t, d, a)
	mustRelease(t, d, a) // perhaps before its agent is up
	n := w.StartCount(a)
	for range 2 {
		_ = d.StartAttempt(t.Context(), a) // whatever it answers
		_ = d.StartAttempt(t.Context(), never)
		time.Sleep(settleTime)
		d = w.OpenDriver()
	}
	if w.StartCount(a) != n || w.StartCount(never) != 0 {
		t.Errorf("the programs began %d times after they were released", w.StartCount(a)-n+w.StartCount(never))
	}
	if found := findAttempts(t, d); len(found) != 0 {
		t.Errorf("found %v", found)
	}
}

func releaseUnknown(t *testing.T, w World) {
	d := w.OpenDriver()
	for _, id := range []driver.ID{{Job: 999_999, Epoch: 7}, {}, {Job: -1, Epoch: 1}} {
		if err := d.ReleaseAttempt(t.Context(), id); err != nil {
			t.Errorf("%v: %v", id, err)
		}
	}
}

func restartFindsRunning(t *testing.T, w World) {
	d, stays, ends, waits := w.OpenDriver(), w.AttemptFor(Stays), w.AttemptFor(Ends), w.AttemptFor(Stays)
	w.SetDeaf(true)
	for _, a := range []*wire.Attempt{stays, ends} {
		mustStart(t, d, a)
	}
	clocktest.WaitFor(t, "both to run", func() bool {
		return w.StartCount(stays) > 0 && w.StartCount(ends) > 0 &&
			w.LivingProcesses(ends) == 0
	})
	d = w.OpenDriver()
	w.SetDeaf(false)
	var ids []driver.ID
	for _, f := range findAttempts(t, d) {
		ids = append(ids, f.ID)
	}
	if !slices.Contains(ids, driver.AttemptID(stays)) || !slices.Contains(ids, driver.AttemptID(ends)) ||
		slices.Contains(ids, driver.AttemptID(waits)) {
		t.Errorf("found %v, started were %v and %v", ids, driver.AttemptID(stays), driver.AttemptID(ends))
	}
	if f := mustFind(t, d, stays); !f.Alive {
		t.Errorf("found %+v of an attempt that runs", f)
	}
	for _, a := range []*wire.Attempt{stays, ends, waits} {
		mustStart(t, d, a)
	}
	clocktest.WaitFor(t, "the end to be heard", func() bool { return lastKind(w.HeardMessages(ends)) == wire.Ended })
	clocktest.WaitFor(t, "the new one to begin", func() bool { return w.StartCount(waits) > 0 })
	time.Sleep(settleTime)
	if w.StartCount(stays) != 1 || w.StartCount(ends) != 1 || w.StartCount(waits) != 1 {
		t.Errorf("the programs began %d, %d and %d times", w.StartCount(stays), w.StartCount(ends), w.StartCount(waits))
	}
	for _, a := range []*wire.Attempt{stays, ends, waits} {
		mustRelease(t, d, a)
		if n := w.LivingProcesses(a); n != 0 {
			t.Errorf("%d processes live after the release", n)
		}
	}
}

// partsSideBySide: two parts of one job in one cluster are two attempts, which run, are found
// and are released each by itself.
func partsSideBySide(t *testing.T, w World) {
	d, first, second := w.OpenDriver(), w.AttemptFor(Stays), w.AttemptFor(Stays)
	second.Job, second.Part = first.Job, 1
	for _, a := range []*wire.Attempt{first, second, second} {
		mustStart(t, d, a)
	}
	clocktest.WaitFor(t, "both parts to run", func() bool { return w.StartCount(first) > 0 && w.StartCount(second) > 0 })
	d = w.OpenDriver()
	if f := mustFind(t, d, first); !f.Alive {
		t.Errorf("found %+v of a part that runs", f)
	}
	mustRelease(t, d, first)
	if n := w.LivingProcesses(first); n != 0 {
		t.Errorf("%d processes of a part live after its release", n)
	}
	if f := mustFind(t, d, second); !f.Alive || w.LivingProcesses(second) == 0 {
		t.Errorf("found %+v of a part that runs, whose job has another that was released", f)
	}
	if found := findAttempts(t, d); len(found) != 1 {
		t.Errorf("found %v, and one of the two parts was released", found)
	}
	mustRelease(t, d, second)
	if a, b := w.StartCount(first), w.StartCount(second); a != 1 || b != 1 {
		t.Errorf("the parts began %d and %d times", a, b)
	}
}

func lossUnderNextDriver(t *testing.T, w World) {
	d, a := w.OpenDriver(), w.AttemptFor(Stays)
	mustStart(t, d, a)
	clocktest.WaitFor(t, "the program to begin", func() bool { return w.StartCount(a) > 0 })
	d = w.OpenDriver()
	w.KillAgent(a)
	clocktest.WaitFor(t, "the loss to be heard", func() bool { return lastKind(w.HeardMessages(a)) == wire.Lost })
	mustRelease(t, d, a)
}

func lossWithoutDriver(t *testing.T, w World) {
	d, a := w.OpenDriver(), w.AttemptFor(Stays)
	mustStart(t, d, a)
	clocktest.WaitFor(t, "the program to begin", func() bool { return w.StartCount(a) > 0 })
	w.Close()
	w.KillAgent(a)
	d = w.OpenDriver()
	mustStart(t, d, a) // as a broker does with what it believes to run
	clocktest.WaitFor(t, "the loss to be heard", func() bool { return lastKind(w.HeardMessages(a)) == wire.Lost })
	if n := w.StartCount(a); n != 1 {
		t.Errorf("the program began %d times", n)
	}
	mustRelease(t, d, a)
}

func sideBySide(t *testing.T, w World) {
	d := w.OpenDriver()
	var stay, end []*wire.Attempt
	for range 4 {
		stay, end = append(stay, w.AttemptFor(Stays)), append(end, w.AttemptFor(Ends))
	}
	var all sync.WaitGroup
	for _, a := range slices.Concat(stay, end) {
		all.Go(func() { mustStart(t, d, a) })
	}
	all.Wait()
	for _, a := range end {
		clocktest.WaitFor(t, "the end to be heard", func() bool { return lastKind(w.HeardMessages(a)) == wire.Ended })
	}
	clocktest.WaitFor(t, "the first to begin", func() bool { return w.StartCount(stay[0]) > 0 })
	mustRelease(t, d, stay[0])
	for _, a := range stay[1:] {
		clocktest.WaitFor(t, "the others to begin", func() bool { return w.LivingProcesses(a) > 0 })
	}
	for _, a := range slices.Concat(stay[1:], end) {
		all.Go(func() { mustRelease(t, d, a) })
	}
	all.Wait()
	for _, a := range slices.Concat(stay, end) {
		if w.LivingProcesses(a) != 0 || w.StartCount(a) > 1 {
			t.Errorf("%d processes of job %d live, its program began %d times", w.LivingProcesses(a), a.Job, w.StartCount(a))
		}
	}
}

func loadIsAShare(t *testing.T, w World) {
	d := w.OpenDriver()
	l, err := d.MeasureLoad(t.Context())
	if err != nil || l.Share < 0 || l.Share > 1 || l.Sd < 0 || l.Sd > 1 || l.Why == "" {
		t.Errorf("%+v, %v", l, err)
	}
}

func testWithdrawn(t *testing.T, w World) {
	d, a := w.OpenDriver(), w.AttemptFor(Ends)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.StartAttempt(ctx, a); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	time.Sleep(settleTime)
	if n := w.StartCount(a); n != 0 {
		t.Errorf("the program began %d times", n)
	}
	if found := findAttempts(t, d); len(found) != 0 {
		t.Errorf("found %v", found)
	}
}

func mustStart(t *testing.T, d driver.Driver, a *wire.Attempt) {
	t.Helper()
	if err := d.StartAttempt(t.Context(), a); err != nil {
		t.Error(err)
	}
}

func mustRelease(t *testing.T, d driver.Driver, a *wire.Attempt) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	if err := d.ReleaseAttempt(ctx, driver.AttemptID(a)); err != nil {
		t.Error(err)
	}
}

func findAttempts(t *testing.T, d driver.Driver) []driver.Found {
	t.Helper()
	found, err := d.FindAttempts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func mustFind(t *testing.T, d driver.Driver, a *wire.Attempt) driver.Found {
	t.Helper()
	for _, f := range findAttempts(t, d) {
		if f.ID == driver.AttemptID(a) {
			return f
		}
	}
	t.Errorf("job %d is not found", a.Job)
	return driver.Found{}
}

// lastKind is the kind of the last message.
func lastKind(m []wire.Message) wire.Kind {
	if len(m) == 0 {
		return ""
	}
	return m[len(m)-1].Kind
}

func countKind(m []wire.Message, k wire.Kind) int {
	n := 0
	for i := range m {
		if m[i].Kind == k {
			n++
		}
	}
	return n
}
