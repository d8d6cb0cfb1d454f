package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// Bounds of what one user's connections may take from the others.
const (
	// maxConnections is how many connections a user may have open at once, root apart:
	// far more than commands and agents need, far fewer than the broker has descriptors.
	maxConnections = 1024
	// bodyTimeout is how long a request may take to arrive.
	bodyTimeout = time.Minute
	// IdleTimeout is how long a connection without a request is kept.
	IdleTimeout = 2 * time.Minute
)

// PerUser makes a listener refuse connections of a user who has too many. Without it
// one user could use up all descriptors of a broker of several.
func PerUser(l net.Listener) net.Listener {
	return &perUser{Listener: l, limit: maxConnections, open: map[uint32]int{}}
}

type perUser struct {
	net.Listener
	limit int

	mu   sync.Mutex
	open map[uint32]int
}

func (l *perUser) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		uid, err := peerUser(conn)
		if err == nil && (uid == 0 || l.enterUser(uid)) {
			return &countedConn{UnixConn: conn.(*net.UnixConn), leave: sync.OnceFunc(func() { l.leaveUser(uid) })}, nil
		}
		_ = conn.Close()
	}
}

func (l *perUser) enterUser(uid uint32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[uid] >= l.limit {
		return false
	}
	l.open[uid]++
	return true
}

func (l *perUser) leaveUser(uid uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[uid]--; l.open[uid] <= 0 {
		delete(l.open, uid)
	}
}

// countedConn is a connection that is counted until it is closed.
type countedConn struct {
	*net.UnixConn
	leave func()
}

func (c *countedConn) Close() error {
	c.leave()
	return c.UnixConn.Close()
}

// takeBody reads the body of a request, which must arrive in time. The deadline is
// taken back afterwards: an answer may take as long as it takes.
func takeBody(w http.ResponseWriter, r *http.Request) error {
	if r.Body == nil || r.ContentLength == 0 {
		return nil
	}
	flow := http.NewResponseController(w)
	_ = flow.SetReadDeadline(clock.RealClock()().Add(bodyTimeout)) // a test's recorder has none
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil { // else the server goes on reading what it does not want, as long as it may
		_ = flow.SetReadDeadline(time.Time{})
	}
	r.Body = io.NopCloser(bytes.NewReader(data))
	if errors.As(err, new(*http.MaxBytesError)) {
		return &badinput.Error{Field: "request", Want: fmt.Sprintf("at most %d bytes", maxBody)}
	}
	return err
}
