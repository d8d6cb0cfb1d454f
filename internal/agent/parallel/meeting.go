package parallel

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// Meeting is where the other parts of a job that is one program reach this one: by TLS, with a token that only the
// agents of the job are told. Part 0 only shows that it can be reached. Of another part what comes is handed to its
// rank server.
type Meeting struct {
	listener *rendezvous.Listener
	folder   string // of the rank server's socket; "": there is none
	done     context.Context
	close    context.CancelFunc

	mu    sync.Mutex
	conns map[net.Conn]bool
}

const (
	// rankServerTimeout is how long a rank server may take to be there, which the setup of its part comes before:
	// the launcher waits so long.
	rankServerTimeout  = 10 * time.Minute
	rankServerInterval = 50 * time.Millisecond
)

// OpenMeeting begins to listen for the other parts.
func OpenMeeting(ctx context.Context, a *wire.Attempt) (*Meeting, error) {
	m := &Meeting{conns: map[net.Conn]bool{}}
	m.done, m.close = context.WithCancel(context.Background())
	var err error
	if a.Part > 0 {
		// Not in the attempt's folder, whose name may be too long for a socket.
		if m.folder, err = os.MkdirTemp("", "godwit-ranks-"); err != nil {
			m.close()
			return nil, err
		}
	}
	if m.listener, err = rendezvous.OpenListener(ctx, rendezvous.Options{Handle: m.handleConn}); err != nil {
		m.close()
		m.removeFolder()
		return nil, err
	}
	return m, nil
}

// Where is what the others must know.
func (m *Meeting) Where() *rendezvous.Rendezvous {
	r := m.listener.Rendezvous()
	return &r
}

// Socket is where the rank server of this part is to listen.
func (m *Meeting) Socket() string { return filepath.Join(m.folder, "s") }

// Close ends listening, and all that goes on.
func (m *Meeting) Close() error {
	m.close()
	m.mu.Lock()
	for c := range m.conns {
		_ = c.Close() // whoever is at the other end notices
	}
	m.mu.Unlock()
	err := m.listener.Close()
	m.removeFolder()
	return err
}

func (m *Meeting) removeFolder() {
	if m.folder != "" {
		_ = os.RemoveAll(m.folder) // it is empty but for a socket
	}
}

// handleConn takes a connection of another part.
func (m *Meeting) handleConn(c net.Conn) {
	m.mu.Lock()
	m.conns[c] = true
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		delete(m.conns, c)
		m.mu.Unlock()
		_ = c.Close()
	}()
	if m.folder == "" {
		return
	}
	if s := m.dialServer(); s != nil {
		rendezvous.JoinStreams(c, s)
	}
}

// dialServer connects to the rank server once it is there; nil if it does not come.
func (m *Meeting) dialServer() net.Conn {
	ctx, cancel := context.WithTimeout(m.done, rankServerTimeout)
	defer cancel()
	var d net.Dialer
	for {
		if c, err := d.DialContext(ctx, "unix", m.Socket()); err == nil {
			return c
		}
		if !clock.SleepContext(ctx, rankServerInterval) {
			return nil
		}
	}
}

// UnreachableError says which part could not be reached.
type UnreachableError struct {
	Part int
	Err  error
}

func (e *UnreachableError) Error() string { return e.Err.Error() }

func (e *UnreachableError) Unwrap() error { return e.Err }

// ReachParts tries to reach the agents of all other parts, at once; an error is an UnreachableError of the first
// that is not reached.
func ReachParts(ctx context.Context, part int, all []wire.Contact) error {
	errs := make([]error, len(all))
	var tries sync.WaitGroup
	for i := range all {
		if c := &all[i]; c.Part != part && c.Meet != nil {
			tries.Go(func() { errs[i] = reachPart(ctx, c) })
		}
	}
	tries.Wait()
	return firstOf(errs...)
}

func reachPart(ctx context.Context, c *wire.Contact) error {
	conn, err := c.Meet.DialOwner(ctx)
	if err == nil {
		_ = conn.Close() // that it is there is all there is to it
		return nil
	}
	return &UnreachableError{c.Part, fmt.Errorf("part %d in %s (%s) cannot be reached from %s: %w", c.Part, c.Cluster,
		strings.Join(c.Hosts, " "), hostName(), err)}
}
