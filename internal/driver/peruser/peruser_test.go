package peruser

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stub is the driver of one user, which notes what it is asked.
type stub struct {
	mu       sync.Mutex
	started  []core.JobID
	released []driver.ID
	found    []driver.Found
	away     error
	quiet    bool
	closed   bool
	load     driver.Load
	prefix   string
}

func (s *stub) StartAttempt(_ context.Context, a *wire.Attempt) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away == nil {
		s.started = append(s.started, a.Job)
	}
	return s.away
}

func (s *stub) ReleaseAttempt(_ context.Context, id driver.ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released = append(s.released, id)
	return s.away
}

func (s *stub) FindAttempts(context.Context) ([]driver.Found, error) { return s.found, s.away }
func (s *stub) MeasureLoad(context.Context) (driver.Load, error) {
	return s.load, s.away
}
func (s *stub) JobPrefix() string                                      { return s.prefix }
func (s *stub) ExplainWait(context.Context, driver.ID) (string, error) { return "because", nil }
func (s *stub) StatFile(context.Context, string) (driver.File, error)  { return driver.File{}, nil }
func (s *stub) PushFiles(context.Context, string) (driver.Moved, error) {
	return driver.Moved{}, nil
}
func (s *stub) BringTree(context.Context, string) (driver.Moved, error) { return driver.Moved{}, nil }
func (s *stub) IsIdle() bool                                            { return s.quiet }
func (s *stub) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// world is a cluster of root, alice (1), bob (2) and carol (3); the jobs 10 to 19
// are alice's, 20 to 29 bob's and so on.
type world struct {
	*Driver
	users [4]*stub

	mu     sync.Mutex
	opened []uint32
	left   []uint32
	now    time.Time
}

func newWorld(t *testing.T, change func(*Options)) *world {
	w := &world{now: time.Unix(1000, 0)}
	for i := range w.users {
		w.users[i] = &stub{quiet: true}
	}
	o := Options{Cluster: "leeds", Own: w.users[0], Pause: time.Millisecond, Reach: 50 * time.Millisecond,
		Owner: func(_ context.Context, id core.JobID) (uint32, error) {
			if id < 40 {
				return uint32(id / 10), nil
			}
			return 0, ErrNoJob
		},
		Open: func(user uint32) (Member, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.opened = append(w.opened, user)
			return w.users[user], nil
		},
		Left: func() ([]uint32, error) { return w.left, nil },
		Sent: func(user uint32, id driver.ID) bool { return id.Epoch == 7 },
	}
	if change != nil {
		change(&o)
	}
	w.Driver = New(o)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) whoIsOpen() []uint32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.opened)
}

func TestWhatIsAboutAJobIsAskedAsItsOwner(t *testing.T) {
	w := newWorld(t, nil)
	for _, job := range []core.JobID{11, 22, 5, 12} {
		if err := w.StartAttempt(t.Context(), &wire.Attempt{Job: job, Epoch: 1}); err != nil {
			t.Fatal(err)
		}
	}
	for user, want := range [][]core.JobID{{5}, {11, 12}, {22}, nil} {
		if got := w.users[user].started; !slices.Equal(got, want) {
			t.Errorf("user %d started %v, want %v", user, got, want)
		}
	}
	if got := w.whoIsOpen(); !slices.Equal(got, []uint32{1, 2}) {
		t.Errorf("opened for %v", got)
	}
	if why, err := w.ExplainWait(t.Context(), driver.ID{Job: 11, Epoch: 1}); err != nil || why != "because" {
		t.Errorf("%q, %v", why, err)
	}
	if w.FilesOf(2) != driver.Stager(w.users[2]) || w.FilesOf(0) != driver.Stager(w.users[0]) {
		t.Error("somebody moves files as somebody else")
	}
}

// What all users of the broker hold is theirs together; what another broker holds is not.
func TestJobsOfAllUsersAreOurs(t *testing.T) {
	w := newWorld(t, nil)
	w.users[0].load = driver.Load{Share: 1, Usage: &driver.Usage{Procs: 16, Others: 9,
		Brokers: map[string]int{"gw-alice-": 2, "gw-bob-": 1, "gw-strange-": 3}}}
	w.users[1].prefix, w.users[2].prefix = "gw-alice-", "gw-bob-"
	for _, want := range []int{9, 7, 6} { // alice's driver is opened, then bob's
		l, err := w.MeasureLoad(t.Context())
		if err != nil || l.Usage.Others != want || l.Usage.Procs != 16 || l.Usage.Brokers["gw-strange-"] != 3 {
			t.Errorf("%+v, %v; want %d of others", l.Usage, err, want)
		}
		next := core.JobID(11)
		if want == 7 {
			next = 21
		}
		if err := w.StartAttempt(t.Context(), &wire.Attempt{Job: next, Epoch: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if w.users[0].load.Usage.Others != 9 {
		t.Error("what the driver of the broker's own user said was changed")
	}
	// One without a manager has nothing to say of that.
	w.users[0].load = driver.Load{Share: 1}
	if l, err := w.MeasureLoad(t.Context()); err != nil || l.Usage != nil {
		t.Errorf("%+v, %v", l.Usage, err)
	}
}

func TestNobodysDriverIsOpenedForWhatWasNeverSent(t *testing.T) {
	w := newWorld(t, nil)
	for _, id := range []driver.ID{{Job: 11, Epoch: 1}, {Job: 21, Epoch: 7}} {
		if err := w.ReleaseAttempt(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.whoIsOpen(); !slices.Equal(got, []uint32{2}) || len(w.users[2].released) != 1 {
		t.Errorf("opened for %v, released %v", got, w.users[2].released)
	}
}

// What a user's end of a connection tells is what that user wants it to.
func TestNobodyTellsOfAttemptsOfOthers(t *testing.T) {
	w := newWorld(t, nil)
	w.left = []uint32{1}
	stray := driver.ID{Job: 99, Epoch: 1}
	w.users[1].found = []driver.Found{{ID: driver.ID{Job: 11, Epoch: 1}}, {ID: driver.ID{Job: 21, Epoch: 9}},
		{ID: driver.ID{Job: 5, Epoch: 9}}, {ID: stray}}
	found, err := w.FindAttempts(t.Context())
	if err != nil || len(found) != 2 {
		t.Errorf("found %v, %v", found, err)
	}
	// What nobody knows is ended where it was found, and nowhere else.
	if err := w.ReleaseAttempt(t.Context(), stray); err != nil || !slices.Contains(w.users[1].released, stray) ||
		len(w.users[0].released) > 0 {
		t.Errorf("released as alice %v, as root %v: %v", w.users[1].released, w.users[0].released, err)
	}
}

func TestOneWhoCannotBeAskedHidesNobodyElses(t *testing.T) {
	w := newWorld(t, nil)
	w.left = []uint32{1, 2}
	w.users[1].away = driver.ErrAway
	w.users[2].found = []driver.Found{{ID: driver.ID{Job: 21, Epoch: 1}}}
	if found, err := w.FindAttempts(t.Context()); !errors.Is(err, driver.ErrAway) || len(found) != 1 {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestAUserWhomAClusterDoesNotLetInIsRefusedThereAfterAWhile(t *testing.T) {
	w := newWorld(t, nil)
	w.users[1].away = driver.ErrAway
	a := &wire.Attempt{Job: 11, Epoch: 1}
	if err := w.StartAttempt(t.Context(), a); !errors.Is(err, driver.ErrRefused) {
		t.Errorf("%v", err)
	}
	// Where nobody gets in it is the cluster that is out of reach.
	w.users[0].away = driver.ErrAway
	if err := w.StartAttempt(t.Context(), a); !errors.Is(err, driver.ErrAway) || errors.Is(err, driver.ErrRefused) {
		t.Errorf("%v", err)
	}
	// A connection that comes back in time is no reason for anything.
	w.users[0].away = nil
	time.AfterFunc(10*time.Millisecond, func() {
		w.users[1].mu.Lock()
		w.users[1].away = nil
		w.users[1].mu.Unlock()
	})
	if err := w.StartAttempt(t.Context(), a); err != nil && !errors.Is(err, driver.ErrRefused) {
		t.Errorf("%v", err)
	}
}

func TestADriverThatServesNobodyIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) { o.Idle = time.Hour })
		w.users[2].quiet = false // it has an attempt
		for _, job := range []core.JobID{11, 22} {
			if err := w.StartAttempt(t.Context(), &wire.Attempt{Job: job, Epoch: 1}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour - time.Second)
		synctest.Wait()
		if !w.isOpen(1) {
			t.Error("one that was just needed was closed")
		}
		time.Sleep(time.Hour / 5) // it is looked at ten times an hour
		synctest.Wait()
		if w.isOpen(1) {
			t.Error("one that nobody needs stays open")
		}
		if !w.isOpen(2) {
			t.Error("one that is needed was closed")
		}
		if err := w.StartAttempt(t.Context(), &wire.Attempt{Job: 12, Epoch: 1}); err != nil || !w.isOpen(1) {
			t.Errorf("it is not opened again: %v", err)
		}
	})
}
