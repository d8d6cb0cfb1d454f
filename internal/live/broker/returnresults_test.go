package broker_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/userfiles"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// hands are those of users whose processes are killed as long as killed is set.
type hands struct {
	depot  *depot.Store
	killed *atomic.Bool
}

func (h hands) UserDepot(uint32) (*depot.Store, error) { return h.depot, nil }
func (h hands) UsersWithDepot() ([]uint32, error)      { return nil, nil }
func (h hands) FilesOf(uint32) (broker.UserFiles, error) {
	if h.killed.Load() {
		return userfiles.OtherUser{Command: []string{"/bin/sh", "-c", "kill -9 $$"}, As: func(*exec.Cmd) {}}, nil
	}
	return userfiles.OwnUser{Depot: h.depot}, nil
}

// upFor starts a broker of several users that keeps what jobs wrote for so long.
func (g *grid) upFor(u broker.Users, keep time.Duration) (*broker.Broker, func()) {
	g.t.Helper()
	o := g.options()
	o.Users, o.KeepJobs = u, keep
	b, err := broker.Open(g.t.Context(), o)
	if err != nil {
		g.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	return b, func() {
		cancel()
		if err := <-ended; err != nil {
			g.t.Error(err)
		}
	}
}

// endFor says for an agent of a user that the program ran and left a result.
func (g *grid) endFor(b *broker.Broker, u broker.User, result string) {
	g.t.Helper()
	a := g.next()
	mine, theirs := net.Pipe()
	g.serving.Go(func() {
		_ = b.ServeAgent(broker.WithUser(context.Background(), u), &wire.Conn{Conn: theirs, R: bufio.NewReader(theirs)})
	})
	g.t.Cleanup(func() { _ = mine.Close() })
	g.serving.Go(func() {
		in, o := bufio.NewReader(mine), wire.Order{}
		for o.Seq < 2 && wire.ReadFrame(in, &o) == nil { // until all is acknowledged
			continue
		}
		_ = mine.Close()
	})
	for _, m := range []wire.Message{
		{Kind: wire.Hello, Job: a.Job, Epoch: a.Epoch, Mark: a.Mark},
		{Seq: 1, Kind: wire.Running, Method: "restart"},
		{Seq: 2, Kind: wire.Ended, Result: result},
	} {
		if err := wire.WriteFrame(mine, &m); err != nil {
			g.t.Fatal(err)
		}
	}
}

// stranded is a job of alice whose results cannot be brought home.
type stranded struct {
	*grid
	hands
	alice        broker.User
	home, result string
	ref          string
}

// strand submits it and says for its agent that it has ended.
func strand(t *testing.T, keep time.Duration) (s *stranded, b *broker.Broker, stop func()) {
	t.Helper()
	d, err := depot.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	s = &stranded{grid: newGridWith(t, d), hands: hands{depot: d, killed: new(atomic.Bool)},
		alice: broker.User{ID: 20001, Name: "alice"},
		home:  t.TempDir(), result: pushed(t, d, "in", "out")}
	s.kill() // that is a broker of one user
	s.killed.Store(true)
	b, stop = s.upFor(s.hands, keep)
	ids, err := b.SubmitJob(broker.WithUser(t.Context(), s.alice), complete(jobfile.Job{Workdir: s.home}),
		pushed(t, d, "in"))
	if err != nil {
		t.Fatal(err)
	}
	s.ref = fmt.Sprint(ids[0])
	s.endFor(b, s.alice, s.result)
	return s, b, stop
}

// over waits until nobody waits for the job any more.
func (s *stranded) over(b *broker.Broker) *broker.View {
	s.t.Helper()
	return overFor(s.t, b, s.alice, s.ref)
}

// overFor waits until a user's job is over.
func overFor(t *testing.T, b *broker.Broker, u broker.User, ref string) *broker.View {
	t.Helper()
	var v *broker.View
	waitUntil(t, func() bool {
		var err error
		if v, err = b.GetJob(broker.WithUser(t.Context(), u), ref); err != nil {
			t.Fatal(err)
		}
		return v.Over
	}, func() string { return fmt.Sprintf("the job of %s is not over: %+v", u.Name, v) })
	return v
}

// kept says whether the depot has to keep the results.
func (s *stranded) kept() bool {
	s.t.Helper()
	roots, err := s.store.ListRoots(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return slices.Contains(roots, s.result)
}

func TestResultsAreKeptIfTheProcessThatBringsThemHomeIsKilled(t *testing.T) {
	s, b, stop := strand(t, 0)
	if v := s.over(b); v.StagedOut || !strings.Contains(v.Reason, "kept by Godwit") || !s.kept() {
		t.Errorf("its results are kept: %v; home: %v, %q", s.kept(), v.StagedOut, v.Reason)
	}
	stop()
	s.killed.Store(false)
	b, stop = s.upFor(s.hands, 0)
	defer stop()
	if v := s.over(b); !v.StagedOut || strings.Contains(v.Reason, "copied back") || s.kept() {
		t.Errorf("its results are kept: %v; home: %v, %q", s.kept(), v.StagedOut, v.Reason)
	}
	if text, err := os.ReadFile(filepath.Join(s.home, "out")); err != nil || string(text) != "out" {
		t.Errorf("at home: %q, %v", text, err)
	}
}

func TestResultsThatCannotBeBroughtHomeAreNotKeptForEver(t *testing.T) {
	s, b, stop := strand(t, time.Nanosecond)
	defer stop()
	if v := s.over(b); !v.StagedOut || !strings.Contains(v.Reason, "not kept any longer") || s.kept() {
		t.Errorf("its results are kept: %v; given up: %v, %q", s.kept(), v.StagedOut, v.Reason)
	}
}

// A tree of the depot is known by its content, so that one which is no list of files
// stays none: there is nothing to wait for.
func TestResultsThatAreNoTreeAreGivenUpAtOnce(t *testing.T) {
	d, err := depot.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	for name, tree := range map[string]string{
		"text":    "this is no list of files",
		"outside": `{"godwit-tree":1,"entries":[{"path":"../out","mode":420}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := newGridWith(t, d)
			id := chunk.IDOf([]byte(tree))
			if err := d.PutChunk(t.Context(), id, []byte(tree)); err != nil {
				t.Fatal(err)
			}
			spec := complete(jobfile.Job{Workdir: t.TempDir()})
			ids, err := g.broker().SubmitJob(t.Context(), spec, pushed(t, d, "in"))
			if err != nil {
				t.Fatal(err)
			}
			job := ids[0]
			a := g.next()
			a.run()
			a.say(wire.Message{Kind: wire.Ended, Result: string(id)})
			v := g.untilOver(job)
			if !v.StagedOut || !strings.Contains(v.Reason, "invalid list of files; not retried") {
				t.Errorf("given up: %v, %q", v.StagedOut, v.Reason)
			}
			told := g.explained(job, "results")
			if len(told) != 1 || told[0].Choice != "results not copied back" {
				t.Errorf("told: %+v", told)
			}
		})
	}
}

// slowHands are those of users; the processes of one of them are stopped, as a user may
// stop their own, until somebody lets them go on.
type slowHands struct {
	hands
	stopped uint32
	reached chan struct{} // something is to be written for that user
	goOn    chan struct{}
}

func (h slowHands) FilesOf(id uint32) (broker.UserFiles, error) {
	own := userfiles.OwnUser{Depot: h.depot}
	if id == h.stopped {
		return stoppedFiles{own, h}, nil
	}
	return own, nil
}

type stoppedFiles struct {
	userfiles.OwnUser
	slowHands
}

func (f stoppedFiles) Write(ctx context.Context, out *userfiles.Output, marker string, content io.Reader) error {
	close(f.reached)
	<-f.goOn
	return f.OwnUser.Write(ctx, out, marker, content)
}

func TestAStoppedProcessOfAUserHoldsUpNobodyElse(t *testing.T) {
	d, err := depot.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	g := newGridWith(t, d)
	g.kill() // that is a broker of one user
	alice, bob := broker.User{ID: 20001, Name: "alice"}, broker.User{ID: 20002, Name: "bob"}
	users := slowHands{hands: hands{depot: d}, stopped: alice.ID, reached: make(chan struct{}), goOn: make(chan struct{})}
	b, stop := g.upFor(users, 0)
	defer stop()
	defer close(users.goOn)
	dir := t.TempDir()
	submit := func(u broker.User) string {
		t.Helper()
		ids, err := b.SubmitJob(broker.WithUser(t.Context(), u),
			complete(jobfile.Job{Workdir: dir, Stdout: filepath.Join(dir, u.Name), Append: true}), "")
		if err != nil {
			t.Fatal(err)
		}
		g.endFor(b, u, "")
		return fmt.Sprint(ids[0])
	}
	submit(alice)
	<-users.reached
	ref := submit(bob)
	overFor(t, b, bob, ref)
}
