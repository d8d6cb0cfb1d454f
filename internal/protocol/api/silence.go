package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// A broker that is stopped, or whose machine is stuck, still has connections made by
// the kernel: a request then waits for ever. So while requests are under way the
// broker is asked for a sign of life beside them, on a connection of its own. Requests
// themselves have no time limit: a cancellation takes as long as its job takes to end.

const (
	// firstProbe is how long a request may take before anybody looks.
	firstProbe = time.Second
	// probeInterval is how often it is looked again while the broker answers.
	probeInterval = 10 * time.Second
	// probeTick is how often it is looked whether the user is to be told.
	probeTick = 500 * time.Millisecond
	// stoppedNotice and silenceNotice are for how long a broker is silent before its
	// user is told: one that is stopped, and one that may only be slow.
	stoppedNotice = 2 * time.Second
	silenceNotice = 5 * time.Second
)

// SilentError says that a broker is there and does not answer.
type SilentError struct {
	PID     int // 0: not known
	Stopped bool
	For     time.Duration
}

func (e *SilentError) Error() string {
	text := "the broker"
	if e.PID > 0 {
		text += fmt.Sprintf(" (pid %d)", e.PID)
	}
	text += fmt.Sprintf(" has not answered for %.0f s", e.For.Seconds())
	if e.Stopped {
		text += fmt.Sprintf(": it is stopped; kill -CONT %d resumes it", e.PID)
	}
	return text
}

// OnSilence has tell called when the broker has not answered for a few seconds, and
// once more, with nil, if it answers later. After limit all requests fail with a
// SilentError; limit 0 is for ever.
func (c *Client) OnSilence(limit time.Duration, tell func(*SilentError)) {
	c.HTTP.Transport = &silenceWatch{next: c.HTTP.Transport, socket: c.socket, limit: limit, tell: tell,
		requests: map[*watchedRequest]bool{}}
}

// silenceWatch sends requests on, and watches the broker while there are any.
type silenceWatch struct {
	next   http.RoundTripper
	socket string
	limit  time.Duration
	tell   func(*SilentError)

	mu       sync.Mutex
	requests map[*watchedRequest]bool
	stop     func() // ends the watch; nil: there is none
}

// watchedRequest is one that is under way, until its body was read or closed.
type watchedRequest struct {
	ctx context.Context
	end context.CancelCauseFunc
}

// requestError is the error of a request: the silence of the broker, if that ended it.
func (r *watchedRequest) requestError(err error) error {
	var silent *SilentError
	if err != nil && errors.As(context.Cause(r.ctx), &silent) {
		return silent
	}
	return err
}

func (w *silenceWatch) CloseIdleConnections() {
	if t, ok := w.next.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

func (w *silenceWatch) RoundTrip(req *http.Request) (*http.Response, error) {
	r := &watchedRequest{}
	r.ctx, r.end = context.WithCancelCause(req.Context())
	w.addRequest(r)
	resp, err := w.next.RoundTrip(req.WithContext(r.ctx))
	if err != nil {
		w.removeRequest(r)
		return nil, r.requestError(err)
	}
	resp.Body = &watchedBody{resp.Body, r, sync.OnceFunc(func() { w.removeRequest(r) })}
	return resp, nil
}

type watchedBody struct {
	io.ReadCloser
	request *watchedRequest
	done    func()
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, b.request.requestError(err)
}

func (b *watchedBody) Close() error {
	err := b.ReadCloser.Close()
	b.done()
	return err
}

func (w *silenceWatch) addRequest(r *watchedRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests[r] = true
	if w.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		w.stop = stop
		go w.watchLoop(ctx)
	}
}

func (w *silenceWatch) removeRequest(r *watchedRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.end(nil)
	delete(w.requests, r)
	if len(w.requests) == 0 && w.stop != nil {
		w.stop()
		w.stop = nil
	}
}

// failRequests ends all requests.
func (w *silenceWatch) failRequests(e *SilentError) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for r := range w.requests { // all of them, in whatever order
		r.end(e)
	}
}

// watchLoop asks for signs of life until there is no request any more.
func (w *silenceWatch) watchLoop(ctx context.Context) {
	first := firstProbe
	if w.limit > 0 {
		first = min(first, w.limit/2)
	}
	for pause := first; ; pause = probeInterval {
		if !clock.SleepContext(ctx, pause) || !w.probeBroker(ctx, first) {
			return
		}
	}
}

// probeBroker waits for a sign of life; false if none came within the limit. The broker has
// been silent for some time already.
func (w *silenceWatch) probeBroker(ctx context.Context, silent time.Duration) bool {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	p := &lifeSign{socket: w.socket, answered: make(chan struct{})}
	go p.awaitAnswer(ctx)
	tick := time.NewTicker(probeTick)
	defer tick.Stop()
	told := false
	for {
		select {
		case <-p.answered:
			if told {
				w.tell(nil)
			}
			return true
		case <-ctx.Done():
			return true
		case <-tick.C: // one that is missed makes us wait longer
			silent += probeTick
		}
		pid := int(p.brokerPID())
		e := &SilentError{PID: pid, Stopped: isStopped(pid), For: silent}
		if w.limit > 0 && e.For >= w.limit {
			w.failRequests(e)
			return false
		}
		if !told && (e.For >= silenceNotice || e.Stopped && e.For >= stoppedNotice) {
			told = true
			w.tell(e)
		}
	}
}

// lifeSign asks a broker who it is.
type lifeSign struct {
	socket   string
	answered chan struct{} // closed when it did, or when nobody is there to be asked

	mu  sync.Mutex
	who int32
}

func (p *lifeSign) brokerPID() int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.who
}

func (p *lifeSign) awaitAnswer(ctx context.Context) {
	transport := &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := dialSocket(ctx, p.socket)
			if err == nil {
				p.mu.Lock()
				p.who = peerPID(conn)
				p.mu.Unlock()
			}
			return conn, err
		}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, Base+"/v1/ping", nil)
	if err != nil {
		return
	}
	resp, err := transport.RoundTrip(req)
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		_ = resp.Body.Close()
	}
	close(p.answered) // if nobody is there the requests find out themselves
}

// dialSocket connects to a broker. One that takes no connections has a full backlog
// after a while: then the kernel refuses, and it is tried again.
func dialSocket(ctx context.Context, socket string) (net.Conn, error) {
	var d net.Dialer
	for {
		conn, err := d.DialContext(ctx, "unix", socket)
		if !errors.Is(err, syscall.EAGAIN) {
			return conn, err
		}
		if !clock.SleepContext(ctx, 50*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
}

// peerPID is the process that listens at the other end; 0 if the kernel does not say.
func peerPID(conn net.Conn) int32 {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return 0
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return 0
	}
	var pid int32
	_ = raw.Control(func(fd uintptr) { // else it stays 0
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = cred.Pid
		}
	})
	return pid
}

// isStopped says whether a process was stopped by a signal or a debugger.
func isStopped(pid int) bool {
	if pid <= 0 {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat[max(0, strings.LastIndexByte(string(stat), ')')):]), " ")
	return strings.HasPrefix(rest, "T") || strings.HasPrefix(rest, "t")
}
