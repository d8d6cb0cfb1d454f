package broker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/staging"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/store/memory"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// here is the site of a grid, whose connection can break.
type here struct {
	*staging.Site

	mu   sync.Mutex
	cut  bool   // the next to be placed is moved away, and no more is heard
	away bool   // nothing can be dropped
	wait string // nothing can be placed there
}

// PlaceResults: of one that is cut off the site has what it was to place somewhere else,
// and goes on when it is asked again.
func (h *here) PlaceResults(ctx context.Context, p driver.ResultPlacement) ([]driver.Placed, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.To == h.wait {
		return nil, fmt.Errorf("%w: the link is broken", driver.ErrAway)
	}
	moved := p.Path + ".moved"
	if h.cut {
		h.cut = false
		if err := os.Rename(p.Path, moved); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: the link broke", driver.ErrAway)
	}
	if _, err := os.Stat(moved); err == nil {
		if err := os.Rename(moved, p.Path); err != nil {
			return nil, err
		}
	}
	return h.Site.PlaceResults(ctx, p)
}

func (h *here) DropResults(ctx context.Context, path string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.away {
		return fmt.Errorf("%w: the link is broken", driver.ErrAway)
	}
	return h.Site.DropResults(ctx, path)
}

func (h *here) setAway(away bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.away = away
}

// seat is a grid whose jobs may leave results, at its two sites.
type seat struct {
	*grid
	site, far *here // of a and b
	beside    bool  // b sees the same files as a
	dest      string
}

func newSeat(t *testing.T) *seat {
	chunks, err := depot.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func() *here { return &here{Site: &staging.Site{Home: t.TempDir(), Dir: t.TempDir(), Depot: chunks}} }
	s := &seat{grid: &grid{t: t, state: t.TempDir(), store: memory.New(), depot: chunks,
		started: make(chan *attempt, 1000)}, dest: t.TempDir(), site: at(), far: at()}
	s.a, s.b = s.puppet("a"), s.puppet("b")
	t.Cleanup(func() {
		s.kill()
		s.a.closeAll()
		s.b.closeAll()
		s.serving.Wait()
		_, _, _ = s.site.Close(), s.far.Close(), chunks.Close()
	})
	s.up()
	return s
}

// up starts a broker that reaches the files.
func (s *seat) up() {
	s.t.Helper()
	o := s.options()
	o.Clusters[0].Files = s.site
	if o.Clusters[1].Files = s.far; !s.beside {
		o.Clusters[1].Site = "far"
	}
	b, err := broker.Open(context.Background(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.br = b
	s.stop = func() error { cancel(); return <-done }
}

// leaves is a job of a that leaves a result there.
func (s *seat) leaves() jobfile.Job {
	return jobfile.Job{On: []string{"a"}, Leave: []jobfile.FarOutput{{From: "x", To: "a:" + s.dest + "/"}}}
}

// setAside sets the results of an attempt aside, as its agent does.
func (s *seat) setAside(a *attempt) string {
	s.t.Helper()
	dir := filepath.Join(s.site.OutgoingFolder(), fmt.Sprintf("%d.%d", a.Job, a.Epoch))
	if a.Outgoing != s.site.OutgoingFolder() {
		s.t.Errorf("it is to be set aside in %q", a.Outgoing)
	}
	for i, f := range a.Spec.Leave {
		path := filepath.Join(dir, fmt.Sprint(i), f.From)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(path, fmt.Append(nil, a.Epoch), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	return dir
}

// untilGone waits until nothing is set aside any more, or nothing by a name.
func (s *seat) untilGone(name ...string) {
	s.t.Helper()
	if len(name) == 0 {
		name = []string{"*"}
	}
	var left []string
	waitUntil(s.t, func() bool {
		var err error
		if left, err = filepath.Glob(filepath.Join(append([]string{s.site.OutgoingFolder()}, name...)...)); err != nil {
			s.t.Fatal(err)
		}
		return len(left) == 0
	}, func() string { return fmt.Sprintf("%v is left", left) })
}

// left says whether the result of an attempt is where it belongs.
func (s *seat) left(epoch string) {
	s.t.Helper()
	if got, err := os.ReadFile(filepath.Join(s.dest, "x")); err != nil || string(got) != epoch {
		s.t.Errorf("%q is left: %v", got, err)
	}
}

// endsAndIsLeft lets the job end well in its first attempt: its result is left where it
// belongs, and no second copy of it stays.
func (s *seat) endsAndIsLeft(id core.JobID) {
	s.t.Helper()
	a := s.next()
	a.run()
	a.say(ended(0, s.setAside(a)))
	if v := s.untilOver(id); strings.Contains(v.Reason, "left") {
		s.t.Error(v.Reason)
	}
	s.left("1")
	s.untilGone()
}

func ended(code int, outgoing string) wire.Message {
	return wire.Message{Kind: wire.Ended, Code: code, Outgoing: outgoing,
		State: &wire.Vitals{CPU: 1, Used: 1, Wall: 1, Chance: -1}}
}

func TestResultsThatWereCutOffAtTheSameSiteAreAskedForAgain(t *testing.T) {
	s := newSeat(t)
	s.site.cut = true
	id := s.submit(s.leaves())
	s.endsAndIsLeft(id)
}

func TestOfAttemptsThatAreStartedAgainNothingStays(t *testing.T) {
	s := newSeat(t)
	spec := s.leaves()
	spec.Retries, spec.RetryOn = 2, []string{jobfile.RetryFailed}
	id := s.submit(spec)
	a := s.next()
	a.run()
	a.say(ended(3, s.setAside(a)))
	b := s.next()
	b.run()
	s.setAside(b) // its agent dies before it says so
	b.say(wire.Message{Kind: wire.Lost, Why: "gone", Cause: jobfile.NodeFail})
	c := s.next()
	s.untilGone()
	c.run()
	c.say(ended(0, s.setAside(c)))
	s.untilOver(id)
	s.left("3")
	s.untilGone()
}

func TestOfAJobThatIsCancelledWhileItComesHomeNothingStays(t *testing.T) {
	s := newSeat(t)
	id := s.submit(s.leaves())
	a := s.next()
	a.run()
	s.until(id, core.Running)
	s.setAside(a)
	s.site.setAway(true) // and the cluster is out of reach when that is to go
	if _, err := s.broker().CancelJob(t.Context(), fmt.Sprint(id)); err != nil {
		t.Fatal(err)
	}
	s.untilOver(id)
	s.kill()
	s.site.setAway(false)
	s.up()
	s.untilGone()
}

func TestResultsThatWereLeftGoAlsoIfNobodyCouldRemoveThemThen(t *testing.T) {
	s := newSeat(t)
	s.site.setAway(true)
	id := s.submit(s.leaves())
	a := s.next()
	a.run()
	a.say(ended(0, s.setAside(a)))
	s.untilOver(id)
	s.left("1")
	s.kill()
	s.site.setAway(false)
	s.up()
	s.untilGone()
}

func TestAResultIsLeftAtAnotherClusterOfTheSameSite(t *testing.T) {
	s := newSeat(t)
	s.kill()
	s.beside = true
	s.up()
	spec := s.leaves()
	spec.Leave[0].To = "b:" + s.dest + "/"
	id := s.submit(spec)
	s.endsAndIsLeft(id)
}

func TestAResultThatWasLeftElsewhereIsNotSentAgain(t *testing.T) {
	s := newSeat(t)
	spec := s.leaves()
	spec.Leave = []jobfile.FarOutput{{From: "x", To: "b:" + s.dest + "/"}, {From: "y", To: "b:later/"}}
	s.far.wait = "later/"
	id := s.submit(spec)
	a := s.next()
	a.run()
	a.say(ended(0, s.setAside(a)))
	s.untilGone("*", "0") // although the other is on its way still
	s.left("1")
	if v := s.view(id); v.Over {
		t.Error("it is over")
	}
	s.kill()
	s.far.wait = ""
	s.up()
	if v := s.untilOver(id); strings.Contains(v.Reason, "left") {
		t.Error(v.Reason)
	}
	if got, err := os.ReadFile(filepath.Join(s.far.Home, "later", "y")); err != nil || string(got) != "1" {
		t.Errorf("%q %v", got, err)
	}
	s.untilGone()
}

func TestResultsThatCouldNotBeLeftStay(t *testing.T) {
	s := newSeat(t)
	s.dest = "/proc/no" // where nobody can make a folder
	id := s.submit(s.leaves())
	a := s.next()
	a.run()
	aside := s.setAside(a)
	a.say(ended(0, aside))
	if v := s.untilOver(id); !strings.Contains(v.Reason, "could not be staged out") {
		t.Error(v.Reason)
	}
	s.kill()
	s.up()
	s.untilOver(id)
	if got, err := os.ReadFile(filepath.Join(aside, "0", "x")); err != nil || string(got) != "1" {
		t.Errorf("%q %v", got, err)
	}
}
