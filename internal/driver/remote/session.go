package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver/remote/talk"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
)

// session is one connection to an outpost.
type session struct {
	process *process
	link    *talk.Link
	welcome talk.Welcome
	relays  sync.WaitGroup
}

// closeLink ends a session over which nothing can be sent any more.
func (s *session) closeLink() { _ = s.link.Close() }

// The line of the script below that says that our binary is not there, and on
// what machine.
const missing = "godwit-is-missing"

// beginScript runs the outpost if its binary is there. $1: the folder, $2: the sum of
// the binaries.
const beginScript = `cd && if test -x "$1/bin/$2/godwit"; then exec "$1/bin/$2/godwit" outpost; else echo ` + missing +
	` $(uname -s) $(uname -m); fi`

// How long things may take.
const (
	connectTimeout   = 40 * time.Second // until the outpost is up
	greetTimeout     = 40 * time.Second // until it has its place, which another may have to leave
	stableConnection = 10 * time.Second // a connection that lasted so long is worth an immediate retry
)

// keepConnected connects, and connects again, until the driver is closed.
func (d *Driver) keepConnected() {
	pause := d.opt.FirstPause
	for d.ctx.Err() == nil {
		s, err := d.connectOutpost()
		if err == nil {
			began := d.opt.Clock()
			d.setSession(s, nil)
			s.relays.Go(func() { d.sendSandbox(s) })
			d.log.Info("connected", "host", s.welcome.Host, "dir", s.welcome.Dir, "outpost", s.welcome.PID)
			err = d.serveSession(s)
			if d.opt.Clock.Since(began) > stableConnection {
				pause = d.opt.FirstPause
			}
		}
		if d.ctx.Err() != nil {
			break
		}
		if d.isNewError(err) {
			d.log.Warn("not connected", "error", err)
		}
		d.setSession(nil, err)
		clock.SleepContext(d.ctx, pause)
		pause = min(2*pause, d.opt.LongPause)
	}
	d.setSession(nil, errClosed)
}

// isNewError says whether the log does not have this error already.
func (d *Driver) isNewError(err error) bool {
	s, why, _ := d.currentSession()
	return s != nil || why == nil || why.Error() != err.Error()
}

// serveSession brings agents to the broker until the connection ends, and says why it
// did.
func (d *Driver) serveSession(s *session) error {
	stop := context.AfterFunc(d.ctx, s.closeLink)
	defer stop()
	for {
		stream, err := s.link.AcceptStream()
		if err != nil {
			break
		}
		s.relays.Go(func() { d.relayAgent(s, stream) })
	}
	return d.endSession(s)
}

// endSession ends what is left of a session and says why it ended.
func (d *Driver) endSession(s *session) error {
	s.closeLink()
	err := s.process.endProcess()
	s.relays.Wait()
	return d.explainFailure(exitError(err), s.process.said.String())
}

// relayAgent carries an agent's words to the broker and back.
func (d *Driver) relayAgent(s *session, stream talk.Stream) {
	dial := net.Dialer{LocalAddr: rendezvous.CallerAddress(d.opt.Cluster)}
	c, err := dial.DialContext(d.ctx, "unix", d.opt.Socket)
	if err != nil {
		_ = stream.Close() // the agent tries again
		return
	}
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-s.link.Done():
			_ = c.Close()
		case <-stop:
		}
	}()
	rendezvous.JoinStreams(stream, c)
}

// connectOutpost makes a session, and brings our binaries first if they are not there.
func (d *Driver) connectOutpost() (*session, error) {
	if len(d.opt.Here) > 0 {
		p, err := d.beginSSH(d.ctx, "", false)
		if err != nil {
			return nil, err
		}
		if d.opt.Place != nil {
			d.opt.Place(p.cmd.Process.Pid)
		}
		s, _, err := d.awaitGreeting(p)
		return s, err
	}
	sum, err := d.bin.combinedSum(d.opt)
	if err != nil {
		return nil, err
	}
	// A connection that hangs may be one that the user opened: the next is ours.
	sharing := !d.hung
	d.hung = false
	for range 2 {
		s, machine, err := d.tryOutpost(sum, sharing)
		if s != nil || err != nil {
			return s, err
		}
		if err := checkArchitecture(machine); err != nil {
			return nil, err
		}
		if err := d.bringBinaries(sum, sharing); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("our binaries do not stay on %s", d.opt.SSH)
}

// remoteFolder is where our things are over there, for a shell in the home folder.
func (d *Driver) remoteFolder() string {
	if dir := d.opt.Settings.Dir; dir != "" {
		return dir
	}
	return ".local/state/godwit/outposts/" + d.opt.Cluster
}

// tryOutpost connects to an outpost. Without one and without an error, our binaries are
// missing on that machine.
func (d *Driver) tryOutpost(sum string, sharing bool) (_ *session, machine string, err error) {
	line, err := shellLine(beginScript, d.remoteFolder(), sum)
	if err != nil {
		return nil, "", err
	}
	p, err := d.beginSSH(d.ctx, line, sharing)
	if err != nil {
		return nil, "", err
	}
	return d.awaitGreeting(p)
}

// awaitGreeting waits for the first word of the other end.
func (d *Driver) awaitGreeting(p *process) (_ *session, machine string, err error) {
	ctx, cancel := context.WithTimeoutCause(d.ctx, connectTimeout, errors.New("it does not answer"))
	defer cancel()
	word, err := p.awaitLine(ctx, talk.Greeting, missing)
	if err != nil {
		end := p.endProcess()
		if d.ctx.Err() == nil && ctx.Err() != nil {
			d.hung = true
			return nil, "", d.explainFailure(context.Cause(ctx), "")
		}
		return nil, "", d.explainFailure(errors.Join(err, end), p.said.String())
	}
	if machine, ok := strings.CutPrefix(word, missing); ok {
		_ = p.endProcess() // it has nothing more to say
		return nil, machine, nil
	}
	s, err := d.greetOutpost(p)
	return s, "", err
}

// logRemoteLine is what the other end says besides: its log.
func (d *Driver) logRemoteLine(line string) {
	if line != "" {
		d.log.Info("over there", "says", line[:min(len(line), 1000)])
	}
}

// greetOutpost tells the outpost what it is to do.
func (d *Driver) greetOutpost(p *process) (*session, error) {
	link, err := talk.NewLink(p, true, d.opt.Clock)
	if err != nil {
		return nil, errors.Join(err, p.endProcess())
	}
	s := &session{process: p, link: link}
	if err = s.sendHello(d); err == nil {
		p.said.setReporter(d.logRemoteLine)
		return s, nil
	}
	var refusal *refusalError
	if e := d.endSession(s); !errors.As(err, &refusal) {
		err = e
	}
	return nil, err
}

// refusalError is an outpost that cannot do what it is asked.
type refusalError struct{ text string }

func (e *refusalError) Error() string { return e.text }

func (s *session) sendHello(d *Driver) error {
	first, err := s.link.OpenStream()
	if err != nil {
		return err
	}
	defer func() { _ = first.Close() }()
	_ = first.SetDeadline(d.opt.Clock().Add(greetTimeout))
	stop := context.AfterFunc(d.ctx, s.closeLink)
	defer stop()
	hello := &talk.Hello{Protocol: talk.Protocol, Owner: d.opt.Owner, Settings: d.opt.Settings,
		Sandbox: d.bin.sandboxBinary() != nil}
	if err := talk.SendMessage(first, hello); err != nil {
		return err
	}
	if err := talk.ReceiveMessage(first, &s.welcome); err != nil {
		return err
	}
	if s.welcome.Error != "" {
		return &refusalError{fmt.Sprintf("the outpost on %s: %s", d.opt.SSH, s.welcome.Error)}
	}
	return nil
}
