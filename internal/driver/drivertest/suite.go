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
	// Open gives the driver. Called again it gives another one in its place, as
	// after a restart of the broker; attempts have run on meanwhile. Close takes
	// it away, with nobody in its place.
	Open() driver.Driver
	Close()
	// Attempt is a new attempt of a new job.
	Attempt(p Program) *wire.Attempt
	// Started is how often the attempt's program began.
	Started(a *wire.Attempt) int
	// Living is how many processes of the program live.
	Living(a *wire.Attempt) int
	// Heard is what the broker heard of the attempt, without repetitions and
	// without Hello.
	Heard(a *wire.Attempt) []wire.Message
	// Deaf makes the broker out of reach, or within reach again.
	Deaf(bool)
	// KillAgent ends the attempt's agent, and nothing else, as kill -9 does.
	KillAgent(a *wire.Attempt)
}

// patience is how long the suite waits for what has to happen, settle for what
// must not.
const (
	patience = 3 * time.Minute
	settle   = 300 * time.Millisecond
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
		{"TheLoadIsAShare", loadIsAShare},
		{"AnOrderThatWasWithdrawnIsNotCarriedOut", withdrawn},
		{"WhatIsHeldForAnAttemptIsHeldOnceAndGivenBack", Reservations},
		{"AnAttemptKeepsItsHostsUnlessToldOtherwise", resizing},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, make(t)) })
	}
}

func runsOnce(t *testing.T, w World) {
	d, a := w.Open(), w.Attempt(Stays)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { mustStart(t, d, a) })
	}
	all.Wait()
	waitFor(t, "the program to begin", func() bool { return w.Started(a) > 0 })
	for range 3 {
		mustStart(t, d, a)
	}
	time.Sleep(settle)
	if n := w.Started(a); n != 1 {
		t.Errorf("the program began %d times", n)
	}
	mustRelease(t, d, a)
}

func endIsReported(t *testing.T, w World) {
	d, a := w.Open(), w.Attempt(Ends)
	mustStart(t, d, a)
	waitFor(t, "the end to be heard", func() bool { return last(w.Heard(a)) == wire.Ended })
	if m := w.Heard(a); m[len(m)-1].Code != 7 {
		t.Errorf("exit code %d, want 7", m[len(m)-1].Code)
	}
	mustStart(t, d, a) // an order that was sent again
	time.Sleep(settle)
	if n := w.Started(a); n != 1 {
		t.Errorf("the program began %d times", n)
	}
	if n := count(w.Heard(a), wire.Ended) + count(w.Heard(a), wire.Lost); n != 1 {
		t.Errorf("%d ends were heard", n)
	}
	mustRelease(t, d, a)
}

func lossIsReported(t *testing.T, w World) {
	d, a := w.Open(), w.Attempt(Stays)
	mustStart(t, d, a)
	waitFor(t, "the program to begin", func() bool { return w.Started(a) > 0 })
	w.KillAgent(a)
	waitFor(t, "the loss to be heard", func() bool { return last(w.Heard(a)) == wire.Lost })
	if n := w.Living(a); n != 0 {
		t.Errorf("%d processes of a lost attempt live", n)
	}
	if n := w.Started(a); n != 1 {
		t.Errorf("the program began %d times", n)
	}
	mustRelease(t, d, a)
}

func unheardEnd(t *testing.T, w World) {
	d := w.Open()
	for pause := settle; ; pause *= 3 {
		a := w.Attempt(Ends)
		w.Deaf(true)
		mustStart(t, d, a)
		waitFor(t, "the program to end", func() bool { return w.Started(a) > 0 && w.Living(a) == 0 })
		time.Sleep(pause) // for the agent to write it down
		w.KillAgent(a)
		w.Deaf(false)
		waitFor(t, "the end to be heard", func() bool { k := last(w.Heard(a)); return k == wire.Ended || k == wire.Lost })
		m := w.Heard(a)
		mustRelease(t, d, a)
		if last(m) == wire.Lost && pause < 8*time.Second {
			continue // a machine that is busy may need longer
		}
		if last(m) != wire.Ended || m[len(m)-1].Code != 7 || count(m, wire.Lost) > 0 || w.Started(a) != 1 {
			t.Errorf("heard %+v of a program that began %d times", m, w.Started(a))
		}
		return
	}
}

func releaseEnds(t *testing.T, w World) { releaseRunning(t, w, Stays) }

func releaseEndsHidden(t *testing.T, w World) { releaseRunning(t, w, Hides) }

func releaseRunning(t *testing.T, w World, p Program) {
	d, a := w.Open(), w.Attempt(p)
	mustStart(t, d, a)
	processes := 1
	if p == Hides {
		processes = 2
	}
	waitFor(t, "the program to begin", func() bool { return w.Started(a) > 0 && w.Living(a) >= processes })
	if found := mustFind(t, d, a); !found.Alive {
		t.Errorf("found %+v of an attempt that runs", found)
	}
	mustRelease(t, d, a)
	if n := w.Living(a); n != 0 {
		t.Errorf("%d processes live after the release", n)
	}
	if found := find(t, d); len(found) != 0 {
		t.Errorf("found %v after the release", found)
	}
	mustRelease(t, d, a)
	time.Sleep(settle)
	if m := w.Heard(a); count(m, wire.Ended)+count(m, wire.Lost) > 0 {
		t.Errorf("heard %+v of an attempt that was released", m)
	}
}

func releasedNeverStarts(t *testing.T, w World) {
	d, a, never := w.Open(), w.Attempt(Ends), w.Attempt(Ends)
	mustRelease(t, d, never) // before it was ever started
	mustStart(t, d, a)
	mustRelease(t, d, a) // perhaps before its agent is up
	n := w.Started(a)
	for range 2 {
		_ = d.Start(t.Context(), a) // whatever it answers
		_ = d.Start(t.Context(), never)
		time.Sleep(settle)
		d = w.Open()
	}
	if w.Started(a) != n || w.Started(never) != 0 {
		t.Errorf("the programs began %d times after they were released", w.Started(a)-n+w.Started(never))
	}
	if found := find(t, d); len(found) != 0 {
		t.Errorf("found %v", found)
	}
}

func releaseUnknown(t *testing.T, w World) {
	d := w.Open()
	for _, id := range []driver.ID{{Job: 999_999, Epoch: 7}, {}, {Job: -1, Epoch: 1}} {
		if err := d.Release(t.Context(), id); err != nil {
			t.Errorf("%v: %v", id, err)
		}
	}
}

func restartFindsRunning(t *testing.T, w World) {
	d, stays, ends, waits := w.Open(), w.Attempt(Stays), w.Attempt(Ends), w.Attempt(Stays)
	w.Deaf(true)
	for _, a := range []*wire.Attempt{stays, ends} {
		mustStart(t, d, a)
	}
	waitFor(t, "both to run", func() bool { return w.Started(stays) > 0 && w.Started(ends) > 0 && w.Living(ends) == 0 })
	d = w.Open()
	w.Deaf(false)
	var ids []driver.ID
	for _, f := range find(t, d) {
		ids = append(ids, f.ID)
	}
	if !slices.Contains(ids, id(stays)) || !slices.Contains(ids, id(ends)) || slices.Contains(ids, id(waits)) {
		t.Errorf("found %v, started were %v and %v", ids, id(stays), id(ends))
	}
	if f := mustFind(t, d, stays); !f.Alive {
		t.Errorf("found %+v of an attempt that runs", f)
	}
	for _, a := range []*wire.Attempt{stays, ends, waits} {
		mustStart(t, d, a)
	}
	waitFor(t, "the end to be heard", func() bool { return last(w.Heard(ends)) == wire.Ended })
	waitFor(t, "the new one to begin", func() bool { return w.Started(waits) > 0 })
	time.Sleep(settle)
	if w.Started(stays) != 1 || w.Started(ends) != 1 || w.Started(waits) != 1 {
		t.Errorf("the programs began %d, %d and %d times", w.Started(stays), w.Started(ends), w.Started(waits))
	}
	for _, a := range []*wire.Attempt{stays, ends, waits} {
		mustRelease(t, d, a)
		if n := w.Living(a); n != 0 {
			t.Errorf("%d processes live after the release", n)
		}
	}
}

func lossUnderNextDriver(t *testing.T, w World) {
	d, a := w.Open(), w.Attempt(Stays)
	mustStart(t, d, a)
	waitFor(t, "the program to begin", func() bool { return w.Started(a) > 0 })
	d = w.Open()
	w.KillAgent(a)
	waitFor(t, "the loss to be heard", func() bool { return last(w.Heard(a)) == wire.Lost })
	mustRelease(t, d, a)
}

func lossWithoutDriver(t *testing.T, w World) {
	d, a := w.Open(), w.Attempt(Stays)
	mustStart(t, d, a)
	waitFor(t, "the program to begin", func() bool { return w.Started(a) > 0 })
	w.Close()
	w.KillAgent(a)
	d = w.Open()
	mustStart(t, d, a) // as a broker does with what it believes to run
	waitFor(t, "the loss to be heard", func() bool { return last(w.Heard(a)) == wire.Lost })
	if n := w.Started(a); n != 1 {
		t.Errorf("the program began %d times", n)
	}
	mustRelease(t, d, a)
}

func sideBySide(t *testing.T, w World) {
	d := w.Open()
	var stay, end []*wire.Attempt
	for range 4 {
		stay, end = append(stay, w.Attempt(Stays)), append(end, w.Attempt(Ends))
	}
	var all sync.WaitGroup
	for _, a := range slices.Concat(stay, end) {
		all.Go(func() { mustStart(t, d, a) })
	}
	all.Wait()
	for _, a := range end {
		waitFor(t, "the end to be heard", func() bool { return last(w.Heard(a)) == wire.Ended })
	}
	waitFor(t, "the first to begin", func() bool { return w.Started(stay[0]) > 0 })
	mustRelease(t, d, stay[0])
	for _, a := range stay[1:] {
		waitFor(t, "the others to begin", func() bool { return w.Living(a) > 0 })
	}
	for _, a := range slices.Concat(stay[1:], end) {
		all.Go(func() { mustRelease(t, d, a) })
	}
	all.Wait()
	for _, a := range slices.Concat(stay, end) {
		if w.Living(a) != 0 || w.Started(a) > 1 {
			t.Errorf("%d processes of job %d live, its program began %d times", w.Living(a), a.Job, w.Started(a))
		}
	}
}

func loadIsAShare(t *testing.T, w World) {
	d := w.Open()
	l, err := d.Load(t.Context())
	if err != nil || l.Share < 0 || l.Share > 1 || l.Sd < 0 || l.Sd > 1 || l.Why == "" {
		t.Errorf("%+v, %v", l, err)
	}
}

func withdrawn(t *testing.T, w World) {
	d, a := w.Open(), w.Attempt(Ends)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Start(ctx, a); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	time.Sleep(settle)
	if n := w.Started(a); n != 0 {
		t.Errorf("the program began %d times", n)
	}
	if found := find(t, d); len(found) != 0 {
		t.Errorf("found %v", found)
	}
}

func id(a *wire.Attempt) driver.ID { return driver.ID{Job: a.Job, Epoch: a.Epoch} }

func mustStart(t *testing.T, d driver.Driver, a *wire.Attempt) {
	t.Helper()
	if err := d.Start(t.Context(), a); err != nil {
		t.Error(err)
	}
}

func mustRelease(t *testing.T, d driver.Driver, a *wire.Attempt) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := d.Release(ctx, id(a)); err != nil {
		t.Error(err)
	}
}

func find(t *testing.T, d driver.Driver) []driver.Found {
	t.Helper()
	found, err := d.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func mustFind(t *testing.T, d driver.Driver, a *wire.Attempt) driver.Found {
	t.Helper()
	for _, f := range find(t, d) {
		if f.ID == id(a) {
			return f
		}
	}
	t.Errorf("job %d is not found", a.Job)
	return driver.Found{}
}

// last is the kind of the last message.
func last(m []wire.Message) wire.Kind {
	if len(m) == 0 {
		return ""
	}
	return m[len(m)-1].Kind
}

func count(m []wire.Message, k wire.Kind) int {
	n := 0
	for i := range m {
		if m[i].Kind == k {
			n++
		}
	}
	return n
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for waited := time.Duration(0); waited < patience; waited += 5 * time.Millisecond {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("waited %v for %s in vain", patience, what)
}
