// Package outpost is the broker's hand on another machine: it runs the driver of
// one cluster there, for as long as the connection that started it lasts, and
// carries the connections of agents to the broker. It keeps nothing that the
// next outpost could not find again; attempts run on without it. The package
// must not know what the broker is up to.
package outpost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/remote/talk"
	"github.com/godwit-hpc/godwit/internal/driver/staging"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/live/drivers"
	"github.com/godwit-hpc/godwit/internal/observe/weather/sensor"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
)

// Options are what an outpost finds on its machine.
type Options struct {
	Home  string   // folders that are not absolute lie below it
	Agent []string // command of an agent; nil: this program
	Bin   string   // folder of our binaries, if a broker brought them
	Log   *slog.Logger
	Clock clock.Clock
}

// RunOutpost is the outpost that a broker started over SSH: it speaks over standard
// input and output until they end. It returns the exit code of the process.
func RunOutpost() int {
	// The connection going away is no reason to die in the middle of something.
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGPIPE)
	for _, name := range []string{"SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "SSH_ORIGINAL_COMMAND"} {
		_ = os.Unsetenv(name) // it is ours; jobs do not sit in a terminal
	}
	runtime.GOMAXPROCS(min(4, runtime.NumCPU())) // a login node is everybody's
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	bin := ""
	if self, err := os.Executable(); err == nil {
		tidyBinaries(self, clock.RealClock()())
		bin = broughtTo(self)
	}
	home, err := os.UserHomeDir()
	if err = errors.Join(err, proctree.CloseInheritedOnExec()); err == nil {
		err = ServeBroker(ctx, standardStreams(), Options{Home: home, Bin: bin, Log: log, Clock: clock.RealClock()})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "godwit outpost:", err)
		return 1
	}
	return 0
}

// stdio is standard input and output as one connection.
type stdio struct{ in, out *os.File }

// standardStreams opens them so that closing them ends reading them.
func standardStreams() *stdio {
	_ = unix.SetNonblock(0, true) // if it cannot be, only the end is less orderly
	_ = unix.SetNonblock(1, true)
	return &stdio{os.NewFile(0, "input"), os.NewFile(1, "output")}
}

func (s *stdio) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s *stdio) Write(p []byte) (int, error) { return s.out.Write(p) }
func (s *stdio) Close() error                { return errors.Join(s.in.Close(), s.out.Close()) }

// post is an outpost at work.
type post struct {
	Options
	link   *talk.Link
	hello  talk.Hello
	place  workFolder
	turn   *turn
	door   io.Closer
	driver drivers.Driver
	survey surveyor
	files  *staging.Site
	box    *equipment
	sensor *sensor.Sensor
	tasks  sync.WaitGroup
}

// greetTimeout is how long a broker may take to say what it wants.
const greetTimeout = time.Minute

// ServeBroker is an outpost from its first word until the connection ends.
func ServeBroker(ctx context.Context, conn io.ReadWriteCloser, o Options) error {
	if _, err := io.WriteString(conn, talk.Greeting+"\n"); err != nil {
		return err
	}
	link, err := talk.NewLink(conn, false, o.Clock)
	if err != nil {
		return err
	}
	defer func() { _ = link.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = link.Close() })
	defer stop()
	p := &post{Options: o, link: link, box: &equipment{dir: o.Bin, over: make(chan struct{})}}
	first, err := link.AcceptStream()
	if err != nil {
		return nil // the broker changed its mind
	}
	_ = first.SetDeadline(o.Clock().Add(greetTimeout))
	if err := talk.ReceiveMessage(first, &p.hello); err != nil {
		return fmt.Errorf("the broker's first word: %w", err)
	}
	welcome := &talk.Welcome{Protocol: talk.Protocol, PID: os.Getpid()}
	defer func() {
		cancel()
		_ = link.Close()
		p.closePost()
	}()
	if err := p.openPost(ctx, cancel, welcome); err != nil {
		welcome.Error = err.Error()
		p.logError(talk.SendMessage(first, welcome))
		p.lingerUntilRead()
		return err
	}
	if talk.SendMessage(first, welcome) != nil || first.Close() != nil {
		return nil // the broker went
	}
	for {
		s, err := link.AcceptStream()
		if err != nil {
			return nil // that is how it ends
		}
		p.tasks.Go(func() { p.answerRequest(ctx, s) })
	}
}

// lingerUntilRead gives the broker time to read why nothing comes of it.
func (p *post) lingerUntilRead() {
	select {
	case <-p.link.Done():
	case <-time.After(5 * time.Second):
	}
}

// openPost takes the place, lets agents in and makes the driver. What was opened is
// to be closed also after an error.
func (p *post) openPost(ctx context.Context, leave func(), w *talk.Welcome) (err error) {
	if err := p.hello.CheckHello(); err != nil {
		return err
	}
	if p.place, err = findPlace(&p.hello, p.Home); err != nil {
		return err
	}
	w.Dir = p.place.dir
	if w.Host, err = os.Hostname(); err != nil {
		w.Host = "localhost"
	}
	if p.turn, err = p.place.takeOver(ctx, p.Clock); err != nil {
		return err
	}
	p.tasks.Go(func() {
		if p.turn.watchSuccessor(ctx) {
			p.Log.Info("another outpost takes over")
			leave()
		}
	})
	broker, err := p.openAgentSockets(ctx)
	if err != nil {
		return err
	}
	settings := p.hello.Settings
	settings.Dir = p.place.attemptsFolder(settings.Kind)
	d, err := drivers.Open(&settings, drivers.Environment{Broker: broker, Agent: p.Agent, Log: p.Log})
	if err != nil {
		return err
	}
	p.driver = d
	if n, ok := d.(driver.JobNamer); ok {
		w.JobPrefix = n.JobPrefix()
	}
	p.files = p.filesAt()
	p.sensor = p.sensorHere()
	p.survey = surveyor{settings: &settings, driver: d, place: p.place, host: w.Host, box: p.box, log: p.Log}
	if !p.hello.Sandbox || p.Bin == "" {
		p.box.markSettled() // none comes
	}
	return nil
}

// openAgentSockets opens the way by which agents come: a socket for those of this machine,
// a gate for those of other hosts. It says where they find it.
func (p *post) openAgentSockets(ctx context.Context) (string, error) {
	if p.hello.Settings.Kind == localKind {
		l, err := p.place.listenSocket(ctx)
		if err != nil {
			return "", err
		}
		p.door = l
		p.tasks.Go(func() { p.acceptAgents(l) })
		return p.place.socket, nil
	}
	file := p.place.rendezvousFile()
	door, err := rendezvous.OpenListener(ctx, rendezvous.Options{Rendezvous: file, Handle: p.carryAgent, Clock: p.Clock})
	if err != nil {
		return "", err
	}
	p.door = door
	return file, nil
}

// closePost closes what open opened, after the link was closed and nothing more is
// wanted. Attempts run on.
func (p *post) closePost() {
	if p.door != nil {
		_ = p.door.Close()
	}
	p.tasks.Wait()
	if p.driver != nil {
		p.logError(p.driver.Close())
		p.logError(p.files.Close())
		p.logError(p.sensor.Close())
	}
	if p.turn != nil {
		p.turn.leavePlace()
	}
}

func (p *post) logError(err error) {
	if err != nil {
		p.Log.Warn("at the end", "error", err)
	}
}

func (p *post) acceptAgents(l net.Listener) {
	for {
		c, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of files, most likely; it passes
			time.Sleep(100 * time.Millisecond)
		default:
			p.tasks.Go(func() { p.carryAgent(c) })
		}
	}
}

// carryAgent carries an agent's words to the broker and back.
func (p *post) carryAgent(c net.Conn) {
	s, err := p.link.OpenStream()
	if err != nil {
		_ = c.Close() // the agent tries again
		return
	}
	// An agent that says nothing is not noticed to be cut off by reading alone.
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-p.link.Done():
			_ = c.Close()
		case <-done:
		}
	}()
	rendezvous.JoinStreams(c, s)
}
