package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

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

// broken ends a session over which nothing can be sent any more.
func (s *session) broken() { _ = s.link.Close() }

// The line of the script below that says that our binary is not there, and on
// what machine.
const missing = "godwit-is-missing"

// begin runs the outpost if its binary is there. $1: the folder, $2: the sum of
// the binaries.
const beginScript = `cd && if test -x "$1/bin/$2/godwit"; then exec "$1/bin/$2/godwit" outpost; else echo ` + missing + ` $(uname -s) $(uname -m); fi`

// How long things may take.
const (
	toConnect = 40 * time.Second // until the outpost is up
	toGreet   = 40 * time.Second // until it has its place, which another may have to leave
	settled   = 10 * time.Second // a connection that lasted so long is worth an immediate retry
)

// keepConnected connects, and connects again, until the driver is closed.
func (d *Driver) keepConnected() {
	pause := d.opt.FirstPause
	for d.ctx.Err() == nil {
		s, err := d.connect()
		if err == nil {
			began := d.opt.Clock()
			d.set(s, nil)
			s.relays.Go(func() { d.equip(s) })
			d.log.Info("connected", "host", s.welcome.Host, "dir", s.welcome.Dir, "outpost", s.welcome.PID)
			err = d.serve(s)
			if d.opt.Clock.Since(began) > settled {
				pause = d.opt.FirstPause
			}
		}
		if d.ctx.Err() != nil {
			break
		}
		if d.news(err) {
			d.log.Warn("not connected", "error", err)
		}
		d.set(nil, err)
		select {
		case <-d.ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, d.opt.LongPause)
	}
	d.set(nil, errClosed)
}

// news says whether the log does not have this error already.
func (d *Driver) news(err error) bool {
	s, why, _ := d.now()
	return s != nil || why == nil || why.Error() != err.Error()
}

// serve brings agents to the broker until the connection ends, and says why it
// did.
func (d *Driver) serve(s *session) error {
	stop := context.AfterFunc(d.ctx, s.broken)
	defer stop()
	for {
		stream, err := s.link.Accept()
		if err != nil {
			break
		}
		s.relays.Go(func() { d.relay(s, stream) })
	}
	return d.farewell(s)
}

// farewell ends what is left of a session and says why it ended.
func (d *Driver) farewell(s *session) error {
	s.broken()
	err := s.process.end()
	s.relays.Wait()
	return d.explain(exitError(err), s.process.said.String())
}

// relay carries an agent's words to the broker and back.
func (d *Driver) relay(s *session, stream talk.Stream) {
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
	rendezvous.Join(stream, c)
}

// connect makes a session, and brings our binaries first if they are not there.
func (d *Driver) connect() (*session, error) {
	if len(d.opt.Here) > 0 {
		p, err := d.begin(d.ctx, "", false)
		if err != nil {
			return nil, err
		}
		if d.opt.Place != nil {
			d.opt.Place(p.cmd.Process.Pid)
		}
		s, _, err := d.meet(p)
		return s, err
	}
	sum, err := d.bin.sum(d.opt)
	if err != nil {
		return nil, err
	}
	// A connection that hangs may be one that the user opened: the next is ours.
	sharing := !d.hung
	d.hung = false
	for range 2 {
		s, machine, err := d.try(sum, sharing)
		if s != nil || err != nil {
			return s, err
		}
		if err := fits(machine); err != nil {
			return nil, err
		}
		if err := d.bring(sum, sharing); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("our binaries do not stay on %s", d.opt.SSH)
}

// folder is where our things are over there, for a shell in the home folder.
func (d *Driver) folder() string {
	if dir := d.opt.Settings.Dir; dir != "" {
		return dir
	}
	return ".local/state/godwit/outposts/" + d.opt.Cluster
}

// try connects to an outpost. Without one and without an error, our binaries are
// missing on that machine.
func (d *Driver) try(sum string, sharing bool) (_ *session, machine string, err error) {
	line, err := shellLine(beginScript, d.folder(), sum)
	if err != nil {
		return nil, "", err
	}
	p, err := d.begin(d.ctx, line, sharing)
	if err != nil {
		return nil, "", err
	}
	return d.meet(p)
}

// meet waits for the first word of the other end.
func (d *Driver) meet(p *process) (_ *session, machine string, err error) {
	ctx, cancel := context.WithTimeoutCause(d.ctx, toConnect, errors.New("it does not answer"))
	defer cancel()
	word, err := p.await(ctx, talk.Greeting, missing)
	if err != nil {
		end := p.end()
		if d.ctx.Err() == nil && ctx.Err() != nil {
			d.hung = true
			return nil, "", d.explain(context.Cause(ctx), "")
		}
		return nil, "", d.explain(errors.Join(err, end), p.said.String())
	}
	if machine, ok := strings.CutPrefix(word, missing); ok {
		_ = p.end() // it has nothing more to say
		return nil, machine, nil
	}
	s, err := d.greet(p)
	return s, "", err
}

// overheard is what the other end says besides: its log.
func (d *Driver) overheard(line string) {
	if line != "" {
		d.log.Info("over there", "says", line[:min(len(line), 1000)])
	}
}

// greet tells the outpost what it is to do.
func (d *Driver) greet(p *process) (*session, error) {
	link, err := talk.NewLink(p, true, d.opt.Clock)
	if err != nil {
		return nil, errors.Join(err, p.end())
	}
	s := &session{process: p, link: link}
	if err = s.hello(d); err == nil {
		p.said.tell(d.overheard)
		return s, nil
	}
	var refusal *refusalError
	if e := d.farewell(s); !errors.As(err, &refusal) {
		err = e
	}
	return nil, err
}

// refusalError is an outpost that cannot do what it is asked.
type refusalError struct{ text string }

func (e *refusalError) Error() string { return e.text }

func (s *session) hello(d *Driver) error {
	first, err := s.link.Open()
	if err != nil {
		return err
	}
	defer func() { _ = first.Close() }()
	_ = first.SetDeadline(d.opt.Clock().Add(toGreet))
	stop := context.AfterFunc(d.ctx, s.broken)
	defer stop()
	hello := &talk.Hello{Protocol: talk.Protocol, Owner: d.opt.Owner, Settings: d.opt.Settings, Sandbox: d.bin.box() != nil}
	if err := talk.Send(first, hello); err != nil {
		return err
	}
	if err := talk.Receive(first, &s.welcome); err != nil {
		return err
	}
	if s.welcome.Error != "" {
		return &refusalError{fmt.Sprintf("the outpost on %s: %s", d.opt.SSH, s.welcome.Error)}
	}
	return nil
}
