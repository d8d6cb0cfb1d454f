// Package remote is the driver of a cluster that is reached with the OpenSSH
// client, or of one on this machine that another user uses: at the other end of
// the connection an outpost runs the driver of that cluster, and this package
// hands it what it is asked. It brings our binaries there, keeps the connection, makes it anew when
// it breaks, repeats what may
// have been lost with it, and carries the connections of agents to the broker.
// It must not know what kind of cluster it is, nor why anything is asked.
package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/remote/talk"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// Options say which cluster, and how it is reached.
type Options struct {
	Cluster    string
	SSH        string   // whom to reach, as ssh takes it
	SSHOptions []string // of the user, for ssh
	SSHCommand []string // nil: ssh
	// Here is the command of an outpost on this very machine, instead of SSH: one
	// that is somebody else's.
	Here []string
	// As makes a command that is to be started somebody else's; nil: all are ours.
	As func(*exec.Cmd)
	// Place is told of every outpost on this machine before anything is asked of it,
	// so that it can be put where its programs are to be; nil: it stays where we are.
	Place   func(pid int)
	Binary  string // godwit; "": this program
	Sandbox string // godwit-sandbox; "": beside Binary, if it is there
	Socket  string // of the broker, where agents are brought to
	Control string // folder for sockets of connections that a user opened for us; short; "": none
	Owner   string // which broker this is, a word: others may use the same folder over there
	// Sent is a file that remembers which attempts may be known over there, so
	// that an attempt that certainly is not can be given up at once while the
	// cluster is out of reach. "": only this process remembers.
	Sent     string
	Settings driver.Settings // of the driver over there; Dir: relative to the home folder there
	Log      *slog.Logger
	Clock    clock.Clock

	FirstPause, LongPause time.Duration // between tries to connect; 0: 1 s and 30 s
}

// Driver is a driver at the other end of a connection. It may be used by several
// goroutines.
type Driver struct {
	opt  Options
	log  *slog.Logger
	bin  *binaries
	sent *register

	ctx    context.Context // until Close
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu      sync.Mutex
	session *session      // nil: there is none
	prefix  string        // of the names of the jobs over there; "": not known, or there are none
	why     error         // there is none; nil: the first is still being made
	changed chan struct{} // closed when the above change

	asked atomic.Int64 // requests under way

	hung bool // the last try to connect did; of keepConnected alone
}

var (
	_ driver.Driver    = (*Driver)(nil)
	_ driver.Surveyor  = (*Driver)(nil)
	_ driver.Estimator = (*Driver)(nil)
	_ driver.Explainer = (*Driver)(nil)
	_ driver.JobNamer  = (*Driver)(nil)
)

// New begins to connect and returns at once.
func New(o Options) (*Driver, error) {
	if err := o.completeDefaults(); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", o.Cluster, err)
	}
	sent, err := openRegister(o.Sent)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", o.Cluster, err)
	}
	d := &Driver{opt: o, log: o.Log.With("cluster", o.Cluster), bin: &binaries{godwit: o.Binary, sandbox: o.Sandbox},
		sent: sent, changed: make(chan struct{})}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.tasks.Go(d.keepConnected)
	return d, nil
}

func (o *Options) completeDefaults() error {
	if !talk.IsPlainWord(o.Cluster) || o.Owner != "" && !talk.IsPlainWord(o.Owner) {
		return errors.New("its name, or that of the broker, is not of letters, digits, dots and hyphens")
	}
	if len(o.Here) > 0 {
		o.SSH = "this machine"
	}
	if o.SSH == "" || o.SSH[0] == '-' {
		return fmt.Errorf("%q is no host", o.SSH)
	}
	if err := checkQuotable(o.Settings.Dir); err != nil {
		return fmt.Errorf("dir: %w", err)
	}
	if len(o.SSHCommand) == 0 {
		o.SSHCommand = []string{"ssh"}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock()
	}
	if o.FirstPause == 0 {
		o.FirstPause = time.Second
	}
	if o.LongPause == 0 {
		o.LongPause = 30 * time.Second
	}
	o.Settings.Cluster = o.Cluster
	return nil
}

// Close ends the connection. Attempts run on.
func (d *Driver) Close() error {
	d.cancel()
	d.tasks.Wait()
	return d.sent.closeFile()
}

// currentSession is the session, or why there is none, and what to wait for if that is not
// good enough.
func (d *Driver) currentSession() (*session, error, <-chan struct{}) { //nolint:ST1008 // the error is not of this call
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.session, d.why, d.changed
}

func (d *Driver) setSession(s *session, why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.session, d.why = s, why
	if s != nil {
		d.prefix = s.welcome.JobPrefix
	}
	close(d.changed)
	d.changed = make(chan struct{})
}

// IsIdle says that no attempt may be known over there and nothing is being asked:
// the connection serves nobody.
func (d *Driver) IsIdle() bool { return d.asked.Load() == 0 && d.sent.isEmpty() }

// JobPrefix is what the names of the jobs over there begin with, as the outpost said when it last answered.
func (d *Driver) JobPrefix() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.prefix
}

// errClosed is what a closed driver answers.
var errClosed = errors.New("the driver is closed")

// UserNotes says nothing: what does not work over there is told by the survey.
func (d *Driver) UserNotes() []string { return nil }

// StartAttempt has the attempt started over there.
func (d *Driver) StartAttempt(ctx context.Context, a *wire.Attempt) error {
	id := driver.AttemptID(a)
	_, err := d.sendRequest(ctx, &talk.Request{Do: talk.Start, Attempt: a}, d.sent.mayKnow(id),
		func() error { return d.sent.addAttempt(id) })
	return err
}

// ReleaseAttempt has the attempt released over there. One that was never sent there
// need not be.
func (d *Driver) ReleaseAttempt(ctx context.Context, id driver.ID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := d.sendRequest(ctx, &talk.Request{Do: talk.Release, ID: id}, d.sent.mayKnow(id), nil)
	if errors.Is(err, driver.ErrAway) && d.sent.isUnsent(id) {
		err = nil
	}
	if err == nil {
		d.sent.removeAttempt(id)
	}
	return err
}

// FindAttempts lists the attempts that are known over there.
func (d *Driver) FindAttempts(ctx context.Context) ([]driver.Found, error) {
	a, err := d.sendRequest(ctx, &talk.Request{Do: talk.Find}, false, nil)
	if err != nil {
		return nil, err
	}
	return a.Found, nil
}

// MeasureLoad says how busy it is over there.
func (d *Driver) MeasureLoad(ctx context.Context) (driver.Load, error) {
	a, err := d.sendRequest(ctx, &talk.Request{Do: talk.Load}, false, nil)
	if err != nil || a.Load == nil {
		return driver.Load{}, emptyAnswerError(err)
	}
	return *a.Load, nil
}

// SurveyHosts says what there is over there.
func (d *Driver) SurveyHosts(ctx context.Context) (*driver.Survey, error) {
	a, err := d.sendRequest(ctx, &talk.Request{Do: talk.Survey}, false, nil)
	if err != nil || a.Survey == nil {
		return nil, emptyAnswerError(err)
	}
	return a.Survey, nil
}

// EstimateWait says how long a newcomer would wait there.
func (d *Driver) EstimateWait(ctx context.Context, n driver.Need) (driver.Wait, error) {
	a, err := d.sendRequest(ctx, &talk.Request{Do: talk.Wait, Need: &n}, false, nil)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return driver.Wait{Known: true, Why: "there is no queue"}, nil
	case err != nil || a.Wait == nil:
		return driver.Wait{}, emptyAnswerError(err)
	}
	return *a.Wait, nil
}

// ExplainWait says why an attempt waits there.
func (d *Driver) ExplainWait(ctx context.Context, id driver.ID) (string, error) {
	a, err := d.sendRequest(ctx, &talk.Request{Do: talk.Why, ID: id}, false, nil)
	if err != nil {
		return "", err
	}
	return a.Why, nil
}

// emptyAnswerError is for an answer that lacks what was asked for.
func emptyAnswerError(err error) error {
	if err == nil {
		err = errors.New("the outpost's answer is empty")
	}
	return err
}

// sendRequest sends a request. Without a connection it answers ErrAway at once, unless
// the request, or one like it, may have been sent before (sent): then it is
// repeated over the next connection, as long as ctx lasts. before is called when
// it is about to be sent.
func (d *Driver) sendRequest(ctx context.Context, q *talk.Request, sent bool,
	before func() error) (*talk.Answer, error) {
	insist := q.Do == talk.Start || q.Do == talk.Release
	d.asked.Add(1)
	defer d.asked.Add(-1)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s, why, changed := d.currentSession()
		if s != nil {
			a, went, err := s.link.SendRequest(ctx, q, before)
			switch {
			case err == nil:
				return a, a.ToError()
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case errors.Is(err, errRegister):
				return nil, fmt.Errorf("cluster %s: %w", d.opt.Cluster, err)
			}
			sent = sent || went
			why = err
			s.closeLink()
		}
		if why != nil && (!sent || !insist) {
			return nil, d.awayError(why)
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-d.ctx.Done():
			return nil, errClosed
		}
	}
}

// awayError says that the cluster is out of reach, and why.
func (d *Driver) awayError(why error) error {
	if d.ctx.Err() != nil {
		return errClosed
	}
	return fmt.Errorf("cluster %s: %w: %w", d.opt.Cluster, driver.ErrAway, why)
}
