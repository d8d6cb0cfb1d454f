package outpost

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/driver/linefile/linefiletest"
	"github.com/godwit-hpc/godwit/internal/driver/remote/talk"
	"github.com/godwit-hpc/godwit/internal/host/calibrate"
	"github.com/godwit-hpc/godwit/internal/live/drivers"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// broker is the other end of an outpost that runs in this process.
type broker struct {
	t     *testing.T
	link  *talk.Link
	ended chan error
}

// visit starts an outpost and waits for its first word.
func visit(t *testing.T, home string) *broker {
	t.Helper()
	return visitAt(t, home, "")
}

// visitAt starts one whose binaries are in a folder.
func visitAt(t *testing.T, home, bin string) *broker {
	t.Helper()
	ours, theirs := net.Pipe()
	b := &broker{t: t, ended: make(chan error, 1)}
	go func() {
		b.ended <- ServeBroker(context.Background(), theirs,
			Options{Home: home, Bin: bin, Agent: []string{"/bin/true"}, Clock: clock.RealClock(),
				Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	}()
	if _, err := talk.AwaitLine(ours, talk.Greeting); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.link, err = talk.NewLink(ours, true, clock.RealClock()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.leave() })
	return b
}

// leave ends the connection and waits for the outpost.
func (b *broker) leave() error {
	_ = b.link.Close()
	err := <-b.ended
	b.ended <- err
	return err
}

func (b *broker) greet(h talk.Hello) talk.Welcome {
	b.t.Helper()
	s, err := b.link.OpenStream()
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	var w talk.Welcome
	if err := talk.SendMessage(s, &h); err != nil {
		b.t.Fatal(err)
	}
	if err := talk.ReceiveMessage(s, &w); err != nil {
		b.t.Fatal(err)
	}
	return w
}

func hello(kind, dir string) talk.Hello {
	return talk.Hello{Protocol: talk.Protocol, Owner: "me",
		Settings: driver.Settings{Cluster: "leeds", Kind: kind, Dir: dir}}
}

// echo answers the agents that an outpost brings.
func (b *broker) echo() {
	for {
		s, err := b.link.AcceptStream()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(s, s)
			_ = s.Close()
		}()
	}
}

// speaks says whether what is said at a place where agents come in comes back.
func speaks(t *testing.T, where string) error {
	t.Helper()
	c, err := rendezvous.DialBroker(t.Context(), where)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := c.Write([]byte("hello")); err != nil {
		return err
	}
	got := make([]byte, 5)
	_, err = io.ReadFull(c, got)
	return err
}

// The broker has to know which jobs of a manager are ours.
func TestAnOutpostSaysHowItsJobsAreNamed(t *testing.T) {
	for kind, named := range map[string]bool{"local": false, "slurm": true} {
		home, err := os.MkdirTemp("", "outpost") // short: the path of a socket is limited
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(home) }()
		w := visit(t, home).greet(hello(kind, "there"))
		if w.Error != "" || (batch.DriverPrefix(w.JobPrefix) != "") != named {
			t.Errorf("%s: %+v", kind, w)
		}
	}
}

func TestAgentsOfThisMachineAndOfOtherHostsAreBroughtToTheBroker(t *testing.T) {
	for kind, door := range map[string]string{"local": "broker.sock", "slurm": "rendezvous.json"} {
		t.Run(kind, func(t *testing.T) {
			home, err := os.MkdirTemp("", "outpost") // short: the path of a socket is limited
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = os.RemoveAll(home) }()
			where := filepath.Join(home, "there", "me", door)
			for range 2 { // the next is found where the first was
				b := visit(t, home)
				if w := b.greet(hello(kind, "there")); w.Error != "" || w.Dir != filepath.Dir(where) {
					t.Fatalf("%+v", w)
				}
				go b.echo()
				if err := speaks(t, where); err != nil {
					t.Error(err)
				}
				if err := b.leave(); err != nil {
					t.Error(err)
				}
				if err := speaks(t, where); err == nil {
					t.Error("somebody answers after the end")
				}
			}
		})
	}
}

func TestRequestsAreAnswered(t *testing.T) {
	b := visit(t, t.TempDir())
	b.greet(hello("local", ""))
	for do, ok := range map[string]bool{talk.Find: true, talk.Load: true, talk.Survey: true, talk.Release: true,
		talk.Why: true, talk.Adjust: false,
		talk.Wait: false, talk.Start: false, "dance": false} {
		a, _, err := b.link.SendRequest(t.Context(), &talk.Request{Do: do}, nil)
		if err != nil || (a.ToError() == nil) != ok {
			t.Errorf("%s: %+v %v", do, a, err)
		}
	}
}

func TestAHelloThatCannotBeIsRefused(t *testing.T) {
	old := hello("local", "")
	old.Protocol = 0
	odd := hello("local", "")
	odd.Settings.Cluster = "../../../etc"
	long := hello("local", "file/below")
	for _, h := range []talk.Hello{old, odd, long, hello("abacus", "")} {
		home := t.TempDir()
		if err := os.WriteFile(filepath.Join(home, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		b := visit(t, home)
		if w := b.greet(h); w.Error == "" {
			t.Errorf("%+v is welcome", h)
		}
		if b.leave() == nil {
			t.Errorf("%+v is no error", h)
		}
	}
}

func TestABrokerThatSaysNothingOrNonsense(t *testing.T) {
	for _, what := range []string{"", "nonsense", "\x00\x00\x00\x05{}{}{"} {
		b := visit(t, t.TempDir())
		if s, err := b.link.OpenStream(); err == nil && what != "" {
			_, _ = s.Write([]byte(what))
			_ = s.Close()
			select {
			case err := <-b.ended:
				b.ended <- err
				if err == nil {
					t.Errorf("%q is no error", what)
				}
			case <-time.After(time.Minute):
				t.Error("it goes on")
			}
		}
		_ = b.leave()
	}
}

// managed is a driver of a cluster whose manager knows its hosts.
type managed struct {
	drivers.Driver
	survey driver.Survey
}

func (m *managed) SurveyHosts(context.Context) (*driver.Survey, error) { return &m.survey, nil }
func (m *managed) UserNotes() []string                                 { return []string{"a note"} }

func TestWhatAManagerDoesNotKnowIsTakenFromThisMachineAndThatIsSaid(t *testing.T) {
	m := &managed{survey: driver.Survey{Manager: "Abacus 1",
		Hosts: []driver.Host{{Name: "n1", Procs: 8}, {Name: "n2", Procs: 8, Speed: 3}}}}
	s := &surveyor{settings: &driver.Settings{Kind: "abacus"}, driver: m, host: "login",
		known: &kind{speed: 2, methods: []string{"restart"}, features: []string{"avx"}}}
	for range 2 { // what the driver keeps is not changed
		v, err := s.askSurvey(t.Context())
		if err != nil || v.TotalProcs() != 16 || v.Hosts[0].Speed != 2 || v.Hosts[1].Speed != 3 || len(v.Methods) != 1 ||
			len(v.CPUFeatures) != 1 ||
			len(v.Notes) != 2 || !strings.Contains(v.Notes[1], "login") {
			t.Errorf("%+v %v", v, err)
		}
	}
	m.survey.Methods, m.survey.CPUFeatures = []string{"signal"}, []string{}
	m.survey.Hosts[0].Speed = 1
	if v, err := s.askSurvey(t.Context()); err != nil || len(v.Notes) != 1 || v.Methods[0] != "signal" {
		t.Errorf("%+v %v", v, err)
	}
}

func TestTheLaterOneHasTheTurn(t *testing.T) {
	p := workFolder{dir: t.TempDir()}
	first, err := p.takeOver(t.Context(), clock.RealClock())
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if first.watchSuccessor(t.Context()) {
			first.leavePlace()
		}
	}()
	second, err := p.takeOver(t.Context(), clock.RealClock())
	if err != nil {
		t.Fatal(err)
	}
	<-gone
	if first.isCurrent() || !second.isCurrent() {
		t.Error("both have it, or none")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if second.watchSuccessor(ctx) {
		t.Error("nobody came")
	}
	if _, err := p.takeOver(ctx, clock.RealClock()); err == nil {
		t.Error("it was taken from one who does not go")
	}
	second.leavePlace()
}

func TestOneThatCannotSayThatItsTurnHasComeChangesNothing(t *testing.T) {
	p := workFolder{dir: t.TempDir()}
	first, err := p.takeOver(t.Context(), clock.RealClock())
	if err != nil {
		t.Fatal(err)
	}
	defer first.leavePlace()
	before, err := filepath.Glob(filepath.Join(p.dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	linefiletest.WithRoomFor(t, empty, 0, func() {
		if _, err := p.takeOver(t.Context(), clock.RealClock()); !errors.Is(err, syscall.EFBIG) {
			t.Errorf("where nothing can be written: %v", err)
		}
	})
	after, err := filepath.Glob(filepath.Join(p.dir, "*"))
	if err != nil || !slices.Equal(after, before) {
		t.Errorf("there is %q, was %q: %v", after, before, err)
	}
	if !first.isCurrent() {
		t.Error("the first has lost its turn to nobody")
	}
}

func TestAFolderOfOthersIsNotUsed(t *testing.T) {
	home := t.TempDir()
	open := filepath.Join(home, "open", "me")
	if err := os.MkdirAll(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil { // that is the point
		t.Fatal(err)
	}
	h := hello("local", "open")
	if _, err := findPlace(&h, home); err == nil {
		t.Error("anybody could put something there")
	}
	h.Settings.Dir = ""
	if p, err := findPlace(&h, home); err != nil || p.dir != filepath.Join(home, ".local/state/godwit/outposts/leeds/me") {
		t.Errorf("%+v %v", p, err)
	}
	if _, err := findPlace(&h, ""); err == nil {
		t.Error("there is no home")
	}
	h.Settings.Dir = strings.Repeat("long/", 40)
	if p, err := findPlace(&h, home); err != nil || len(p.socket) > maxSocket || strings.HasPrefix(p.socket, home) {
		t.Errorf("%+v %v", p, err)
	}
}

func TestOldBinariesGo(t *testing.T) {
	bin, now := filepath.Join(t.TempDir(), "bin"), time.Now()
	old, young, ours := "0123456789abcdef", "1123456789abcdef", "2123456789abcdef"
	for _, name := range []string{old, young, ours, "mine"} {
		if err := os.MkdirAll(filepath.Join(bin, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(bin, name), now, now.Add(-binariesMaxAge-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(filepath.Join(bin, young), now, now.Add(-binariesMaxAge+time.Hour)); err != nil {
		t.Fatal(err)
	}
	tidyBinaries(filepath.Join(bin, "elsewhere", "godwit"), now)
	tidyBinaries(filepath.Join(bin, ours, "godwit"), now)
	for name, want := range map[string]bool{old: false, young: true, ours: true, "mine": true} {
		if _, err := os.Stat(filepath.Join(bin, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseMemory(f *testing.F) {
	f.Add("MemTotal:       24555044 kB\nMemFree: 1 kB\n")
	f.Fuzz(func(t *testing.T, text string) {
		if calibrate.ParseTotalMemory(text) < 0 {
			t.Error("negative")
		}
	})
	if text, err := os.ReadFile("/proc/meminfo"); err != nil ||
		calibrate.ParseTotalMemory(string(bytes.ToValidUTF8(text, nil))) < 1<<20 {
		f.Error("this machine has no memory")
	}
}

func TestOneOutpostOffersWhatAnotherTakes(t *testing.T) {
	homes := [2]string{t.TempDir(), t.TempDir()}
	var posts [2]*broker
	for i := range posts {
		posts[i] = visit(t, homes[i])
		if w := posts[i].greet(hello("local", "")); w.Error != "" {
			t.Fatal(w.Error)
		}
	}
	if err := os.WriteFile(filepath.Join(homes[0], "x"), bytes.Repeat([]byte("content"), 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := posts[0].link.HoldRequest(t.Context(), &talk.Request{Do: talk.Offer, Path: "none"}); !errors.Is(err,
		fs.ErrNotExist) {
		t.Error(err)
	}
	a, release, err := posts[0].link.HoldRequest(t.Context(), &talk.Request{Do: talk.Offer, Path: "x"})
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := posts[1].link.SendRequest(t.Context(), &talk.Request{Do: talk.Take, Offer: a.Offer}, nil)
	if err != nil || got.ToError() != nil || got.Moved.Tree != a.Offer.Tree || got.Moved.Sent == 0 {
		t.Errorf("%+v %v", got, err)
	}
	release()
	clocktest.WaitFor(t, "nobody to listen any more", func() bool {
		c, err := a.Offer.At.DialOwner(t.Context())
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	a.Offer.Tree = strings.Repeat("0a", 32) // which nobody has, from where nobody is
	if got, _, err := posts[1].link.SendRequest(t.Context(), &talk.Request{Do: talk.Take, Offer: a.Offer},
		nil); err != nil || !errors.Is(got.ToError(), driver.ErrUnreached) {
		t.Errorf("%+v %v", got, err)
	}
}
