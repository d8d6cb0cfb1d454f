// Package connect is how commands reach a broker: which one they ask, how one is started in the
// background where none runs, and what is said of one that does not answer. It must not know
// what it is asked.
package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver/local"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/config"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// Connector is a program whose commands ask a broker.
type Connector struct {
	*term.App
	toldShared sync.Once // that the broker is that of all users
}

// NewConnector lets the commands of a program ask a broker.
func NewConnector(program *term.App) *Connector { return &Connector{App: program} }

const (
	// StartTimeout is how long a broker may take to answer: it may have to read a
	// long log, or to measure how fast this machine is.
	StartTimeout = 60 * time.Second
	// maxStarts is how often a broker is started that is killed as soon as it answers.
	maxStarts = 5
	// maxBrokerLog is the size from which on the log of an embedded broker begins
	// anew; one older one is kept.
	maxBrokerLog = 4 << 20
)

// SilenceSetting is the variable that says for how long a command waits for a broker
// that is there and does not answer.
const SilenceSetting = "GODWIT_BROKER_TIMEOUT"

// silenceTimeout is that time where the variable says nothing.
const silenceTimeout = time.Minute

// DialBroker makes a client that tells its user of a broker that does not answer, and gives
// it up after a while.
func (a *Connector) DialBroker(socket string) (*api.Client, error) {
	limit := silenceTimeout
	if text := os.Getenv(SilenceSetting); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil || limit < 0 {
			return nil, &badinput.Error{Field: SilenceSetting, Value: text,
				Want: "a time such as 30s or 5m, or 0 to wait for ever"}
		}
	}
	return a.DialFor(socket, limit), nil
}

// DialFor is DialBroker with a time limit of its own.
func (a *Connector) DialFor(socket string, limit time.Duration) *api.Client {
	c := api.DialBroker(socket)
	c.OnSilence(limit, func(e *api.SilentError) {
		switch {
		case e == nil:
			a.SayLine("the broker answers again")
		case limit > 0:
			a.SayLine(fmt.Sprintf("%v; giving up after %.0f s (%s)", e, limit.Seconds(), SilenceSetting))
		default:
			a.SayLine(e.Error())
		}
	})
	return c
}

// ConnectBroker finds the broker: the one that GODWIT_SOCKET names, this user's own, or
// that of all users of the machine; where none of them runs it starts one of this
// user's own.
func (a *Connector) ConnectBroker(ctx context.Context) (*api.Client, error) {
	if socket := os.Getenv(api.SocketSetting); socket != "" {
		if err := api.CheckTrusted(socket); err != nil {
			return nil, &badinput.Error{Field: api.SocketSetting, Value: socket, Want: "the socket of a broker", Err: err}
		}
		c, err := a.DialBroker(socket)
		if err != nil {
			return nil, err
		}
		_, err = a.PingUntilClear(ctx, c)
		return c, err
	}
	state, err := api.StateDir()
	if err != nil {
		return nil, err
	}
	c, err := a.DialBroker(api.SocketPath(state))
	if err != nil {
		return nil, err
	}
	ping, err := a.PingUntilClear(ctx, c)
	if err == nil && ping.Embedded && ping.Version != a.Version && ping.Jobs == 0 {
		// Left from an earlier version, and idle: ours takes its place.
		if err := a.ShutDown(ctx, c); err != nil {
			return nil, err
		}
		return c, a.startBroker(ctx, c, state)
	}
	if NobodyThere(err) {
		if shared, err := a.SharedBroker(ctx); shared != nil || err != nil {
			return shared, err
		}
		return c, a.startBroker(ctx, c, state)
	}
	return c, err
}

// SharedBroker is the broker of all users of the machine; nil if there is none, or this
// user named a state folder, and with it a broker of their own.
func (a *Connector) SharedBroker(ctx context.Context) (*api.Client, error) {
	if os.Getenv("GODWIT_STATE") != "" || api.CheckTrusted(api.SharedSocket) != nil {
		return nil, nil //nolint:nilerr // nobody listens there whom this user may trust
	}
	c, err := a.DialBroker(api.SharedSocket)
	if err != nil {
		return nil, err
	}
	switch _, err := a.PingUntilClear(ctx, c); {
	case IsSilent(err): // it is there: no other is started beside it
		return nil, err
	case err != nil:
		return nil, nil //nolint:nilerr // there is none
	}
	a.toldShared.Do(func() { a.SayLine("using the shared broker on " + api.SharedSocket) })
	return c, nil
}

// NobodyThere tells a missing broker from one that does not work.
func NobodyThere(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED)
}

// IsSilent tells a broker that is there and does not answer.
func IsSilent(err error) bool {
	var silent *api.SilentError
	return errors.As(err, &silent)
}

// isFinal reports whether asking again would be answered the same way.
func isFinal(err error) bool {
	return NobodyThere(err) || IsSilent(err) || errors.Is(err, fs.ErrPermission)
}

// PingUntilClear asks a broker that is just ending, or in trouble, a few times.
func (a *Connector) PingUntilClear(ctx context.Context, c *api.Client) (api.Ping, error) {
	for try := 0; ; try++ {
		ping, err := c.PingBroker(ctx)
		if err == nil || isFinal(err) || try == 20 || ctx.Err() != nil {
			return ping, err
		}
		clock.SleepContext(ctx, 100*time.Millisecond)
	}
}

// ShutDown ends a broker and returns when it is gone.
func (a *Connector) ShutDown(ctx context.Context, c *api.Client) error {
	_, err := c.ShutdownBroker(ctx)
	if badinput.Is(err) || isFinal(err) {
		return err
	}
	// Whatever else it answered, or that it ended before it had: what counts is
	// that it is gone.
	begin := a.Now()
	for a.Now.Since(begin) < StartTimeout {
		c.Close() // a connection that is kept open would be asked
		if _, err := c.PingBroker(ctx); NobodyThere(err) {
			return nil
		}
		if !clock.SleepContext(ctx, 20*time.Millisecond) {
			return ctx.Err()
		}
	}
	return errors.New("the broker that runs was told to end and has not")
}

// startBroker starts a broker in the background and returns when it answers.
// Several that try at once end up with one.
func (a *Connector) startBroker(ctx context.Context, c *api.Client, state string) error {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return fmt.Errorf("making the state folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(state, "starting"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("using the state folder: %w", err)
	}
	defer func() { _ = lock.Close() }() // and with it the lock
	if err := waitFlock(ctx, lock); err != nil {
		return err
	}
	if _, err := a.PingUntilClear(ctx, c); !NobodyThere(err) {
		return err // somebody else was quicker
	}
	if err := CheckOwnSettings(""); err != nil {
		return err
	}
	log := filepath.Join(state, "broker.log")
	from := rotateLog(log)
	for try := 1; ; try++ {
		died, err := a.spawnBroker(ctx, state, log)
		if err != nil {
			return fmt.Errorf("starting a broker: %w", err)
		}
		_, err = a.PingUntilClear(ctx, c)
		switch {
		case err == nil:
			a.SayLine("no broker was running: started one in the background, log in " + log)
			return nil
		case !NobodyThere(err):
			return err
		case died == "" && try < maxStarts: // there was one, and it was killed at once
		default:
			a.ShowLog(log, from)
			return fmt.Errorf("no broker runs, and one that was started in the background %s; its log is %s",
				cmp.Or(died, "was killed"), log)
		}
	}
}

// CheckOwnSettings refuses settings with which no broker starts: those of a file, or, without
// one, where a broker looks for them.
func CheckOwnSettings(file string) error {
	cpus, err := local.UsableCPUs()
	if err != nil {
		return err
	}
	_, err = config.LoadSettings(file, os.Getenv, cpus)
	return err
}

// waitFlock waits for the lock as long as another process starts a broker.
func waitFlock(ctx context.Context, f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		if !clock.SleepContext(ctx, 5*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// rotateLog begins a log anew that has grown long, and says where the next line
// will stand.
func rotateLog(log string) int64 {
	info, err := os.Stat(log)
	if err != nil {
		return 0
	}
	if info.Size() > maxBrokerLog && os.Rename(log, log+".old") == nil {
		return 0
	}
	return info.Size()
}

// spawnBroker starts `godwit up --embedded` in a session of its own and waits until it
// says that it listens, or that another does. If it says neither, died says what it did instead.
func (a *Connector) spawnBroker(ctx context.Context, state, log string) (died string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { _ = out.Close() }() // the broker has its own
	ready, tell, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer func() { _ = ready.Close() }()
	cmd := exec.Command(self, "up", "--embedded", "--ready-fd", "3")
	cmd.Dir = state
	cmd.Env = append(os.Environ(), "GODWIT_STATE="+state)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = out, out, []*os.File{tell}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = tell.Close() // the broker has the other one: when it ends, reading ends
	if err != nil {
		return "", err
	}
	go func() { _ = cmd.Wait() }() // so that it does not stay a zombie while we run
	stop := context.AfterFunc(ctx, func() { _ = ready.Close() })
	defer stop()
	_ = ready.SetReadDeadline(a.Now().Add(StartTimeout))
	_, err = io.ReadFull(ready, make([]byte, 1))
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("has not answered within %.0f s", StartTimeout.Seconds()), nil
	case err != nil:
		return "ended at once", nil
	}
	return "", nil
}

// ShowLog repeats the end of what a broker wrote before it died.
func (a *Connector) ShowLog(log string, from int64) {
	const most = 8
	f, err := os.Open(log)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.NewSectionReader(f, from, 1<<20))
	if err != nil {
		return
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	for _, line := range lines[max(0, len(lines)-most):] {
		_, _ = fmt.Fprintf(a.Stderr, "  | %s\n", line)
	}
}

// WasAnswered says whether a broker has dealt with a request, or never will. Of one that went away instead nobody
// knows how far it got.
func WasAnswered(err error) bool {
	var refused *api.Refusal
	return err == nil || badinput.Is(err) || IsSilent(err) || errors.Is(err, fs.ErrPermission) ||
		errors.As(err, &refused) && !refused.Ending
}

// RetryPause is how long a broker that went away is left alone.
const RetryPause = 100 * time.Millisecond

// AskUntilAnswered runs do with one connection after the other until a broker has dealt with it: where one went away
// meanwhile another is started. It has to be something that may be done twice.
func (a *Connector) AskUntilAnswered(ctx context.Context, do func(*api.Client) error) error {
	for begin := a.Now(); ; clock.SleepContext(ctx, RetryPause) {
		var asked error
		err := a.AskBroker(ctx, func(c *api.Client) error {
			asked = do(c)
			return asked
		})
		if asked == nil || WasAnswered(asked) || ctx.Err() != nil || a.Now.Since(begin) > StartTimeout {
			return err
		}
	}
}

// AskBroker runs do with a connection.
func (a *Connector) AskBroker(ctx context.Context, do func(*api.Client) error) error {
	c, err := a.ConnectBroker(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return do(c)
}
