package rendezvous

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// Options say where to listen.
type Options struct {
	Rendezvous string // file to be written; "": none, Gate.Rendezvous tells it
	Host       string // address to listen on; "": all
	FirstPort  int    // the first free port from here on; 0: any
	LastPort   int
	// Handle gets every connection that showed the token, in a goroutine of its
	// own, and closes it.
	Handle func(net.Conn)
	Clock  clock.Clock // nil: the machine's
}

// Listener listens for agents.
type Listener struct {
	listener net.Listener
	where    Rendezvous
	token    []byte
	handle   func(net.Conn)
	clock    clock.Clock
	tasks    sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	unknown map[net.Conn]bool // those that have not shown the token yet
}

// tokenTimeout is how long a stranger may take to show that he is none.
const tokenTimeout = 10 * time.Second

// OpenListener opens a gate and writes the rendezvous, as the last thing.
func OpenListener(ctx context.Context, o Options) (*Listener, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock()
	}
	cert, pin, err := makeCertificate(o.Clock())
	if err != nil {
		return nil, err
	}
	l, err := listenPort(ctx, o)
	if err != nil {
		return nil, err
	}
	g := &Listener{handle: o.Handle, clock: o.Clock, token: make([]byte, tokenSize), unknown: map[net.Conn]bool{}}
	_, _ = rand.Read(g.token) // never fails
	g.listener = tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}})
	r := Rendezvous{Certificate: pin, Token: hex.EncodeToString(g.token)}
	port := l.Addr().(*net.TCPAddr).Port // it is a TCP listener
	r.Addresses, err = localAddresses(o.Host, port)
	if err == nil && o.Rendezvous != "" {
		err = r.writeFile(o.Rendezvous)
	}
	if err != nil {
		_ = l.Close() // nobody knows of it
		return nil, err
	}
	g.where = r
	g.tasks.Go(g.acceptLoop)
	return g, nil
}

// Rendezvous is what whoever is to come must know.
func (g *Listener) Rendezvous() Rendezvous { return g.where }

func listenPort(ctx context.Context, o Options) (net.Listener, error) {
	lc := net.ListenConfig{KeepAliveConfig: keepAlive(), Control: giveUp}
	var err error
	for port := o.FirstPort; port <= max(o.FirstPort, o.LastPort); port++ {
		var l net.Listener
		if l, err = lc.Listen(ctx, "tcp", net.JoinHostPort(o.Host, strconv.Itoa(port))); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("listening for agents: %w", err)
}

// makeCertificate makes a key and a certificate of its own. What it says does not
// matter: it is known by its sum.
func makeCertificate(now time.Time) (tls.Certificate, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "godwit"},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.AddDate(10, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	pin := sha256.Sum256(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, hex.EncodeToString(pin[:]), nil
}

// localAddresses are those under which this machine may be reached: those of its
// interfaces, those that lead only to itself last.
func localAddresses(host string, port int) ([]string, error) {
	p := strconv.Itoa(port)
	if host != "" {
		return []string{net.JoinHostPort(host, p)}, nil
	}
	var list, last []string
	ifaces, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	for _, a := range ifaces {
		ip, ok := a.(*net.IPNet)
		switch {
		case !ok || ip.IP.IsLinkLocalUnicast():
		case ip.IP.IsLoopback():
			last = append(last, net.JoinHostPort(ip.IP.String(), p))
		default:
			list = append(list, net.JoinHostPort(ip.IP.String(), p))
		}
	}
	return append(list, last...), nil
}

// writeFile puts the rendezvous in its place, whole.
func (r *Rendezvous) writeFile(file string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	beside := file + ".new" // one name: there is one gate with this file at a time
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(beside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // only we may read it
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(beside, file)
	}
	if err != nil {
		_ = os.Remove(beside)
	}
	return err
}

func (g *Listener) acceptLoop() {
	for {
		c, err := g.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of files, most likely; it passes
			time.Sleep(100 * time.Millisecond)
		default:
			g.tasks.Go(func() { g.admitConn(c) })
		}
	}
}

// admitConn lets in who shows the token.
func (g *Listener) admitConn(c net.Conn) {
	if !g.noteConn(c, true) {
		return
	}
	shown := make([]byte, tokenSize)
	_ = c.SetDeadline(g.clock().Add(tokenTimeout))
	_, err := io.ReadFull(c, shown)
	if !g.noteConn(c, false) {
		return
	}
	if err != nil || subtle.ConstantTimeCompare(shown, g.token) != 1 {
		_ = c.Close()
		return
	}
	_ = c.SetDeadline(time.Time{})
	g.handle(c)
}

// noteConn remembers that a connection is a stranger's, or is not any more. After
// Close it is closed: false.
func (g *Listener) noteConn(c net.Conn, stranger bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		_ = c.Close()
		return false
	}
	if stranger {
		g.unknown[c] = true
	} else {
		delete(g.unknown, c)
	}
	return true
}

// Close ends listening and returns when all handlers have: connections that were
// let in are theirs to close.
func (g *Listener) Close() error {
	err := g.listener.Close()
	g.mu.Lock()
	g.closed = true
	for c := range g.unknown {
		_ = c.Close() // without a farewell
	}
	g.mu.Unlock()
	g.tasks.Wait()
	return err
}
