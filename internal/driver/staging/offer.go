package staging

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
)

const (
	// offerIdleTimeout is how long an offer stands while nobody asks for anything.
	offerIdleTimeout = 2 * time.Minute
	// maxOfferAge is how long it stands at most.
	maxOfferAge = 24 * time.Hour
)

// Offering is something of this site that stands ready for another site: whoever
// knows the certificate and the token that were made for it gets its chunks, and
// nothing else. Nothing listens before and after.
type Offering struct {
	driver.Offer
	gate   *rendezvous.Listener
	server *http.Server
	conns  *handedConns
	served chan struct{}

	mu     sync.Mutex
	asking int
	quiet  *time.Timer
	end    *time.Timer
	over   chan struct{}
}

// OfferFiles makes an offer of a file or a folder, or of a tree that is kept here.
func (s *Site) OfferFiles(ctx context.Context, w driver.FileRequest) (*Offering, error) {
	content, err := s.offeredContent(ctx, w)
	if err != nil {
		return nil, err
	}
	o := &Offering{conns: &handedConns{conns: make(chan net.Conn), closed: make(chan struct{})},
		served: make(chan struct{}), over: make(chan struct{})}
	if o.gate, err = rendezvous.OpenListener(ctx, rendezvous.Options{Handle: o.conns.handOver}); err != nil {
		return nil, err
	}
	o.Offer = driver.Offer{Tree: string(content.TreeID()), Bytes: content.TotalBytes(), At: o.gate.Rendezvous()}
	var once sync.Once
	enough := func() { once.Do(func() { close(o.over) }) }
	o.quiet, o.end = time.AfterFunc(offerIdleTimeout, enough), time.AfterFunc(maxOfferAge, enough)
	o.server = &http.Server{Handler: o.watchRequests(content.ChunkHandler()), ReadHeaderTimeout: offerIdleTimeout,
		IdleTimeout: offerIdleTimeout, MaxHeaderBytes: 16 << 10}
	go func() {
		_ = o.server.Serve(o.conns) // until it is closed
		close(o.served)
	}()
	return o, nil
}

// offeredContent is what there is to offer.
func (s *Site) offeredContent(ctx context.Context, w driver.FileRequest) (*httpdepot.Offer, error) {
	if w.Path == "" {
		kept, err := s.openStore()
		if err != nil {
			return nil, err
		}
		return httpdepot.OfferTree(ctx, kept, depot.ID(w.Tree))
	}
	real, err := s.resolvePath(ctx, w.Path)
	if err != nil {
		return nil, err
	}
	return depot.OfferFolder(ctx, filepath.Dir(real), depot.PushOptions{Exclude: excludeOthers(real)})
}

// resolvePath is where a path leads, if that may be moved.
func (s *Site) resolvePath(ctx context.Context, path string) (string, error) {
	f, err := s.StatFile(ctx, path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(f.Path)
	if err == nil && filepath.Dir(real) == real {
		err = fmt.Errorf("%s: %w: it is everything", f.Path, fs.ErrInvalid)
	}
	return real, err
}

// excludeOthers excludes everything else from the folder that a file or a folder is in.
func excludeOthers(real string) []string {
	return []string{"/*", "!/" + EscapePattern(filepath.Base(real))}
}

// watchRequests notes when somebody asks.
func (o *Offering) watchRequests(h http.Handler) http.Handler {
	note := func(by int) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.asking += by
		if o.quiet.Stop(); o.asking == 0 {
			o.quiet.Reset(offerIdleTimeout)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(1)
		defer note(-1)
		h.ServeHTTP(w, r)
	})
}

// OverChannel is closed when the offer is of no use any more.
func (o *Offering) OverChannel() <-chan struct{} { return o.over }

// Close withdraws the offer.
func (o *Offering) Close() error {
	o.quiet.Stop()
	o.end.Stop()
	err := o.server.Close()
	err = errors.Join(err, o.gate.Close())
	<-o.served
	return err
}

// handedConns is a listener for connections that the gate let in.
type handedConns struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (h *handedConns) handOver(c net.Conn) {
	select {
	case h.conns <- c:
	case <-h.closed:
		_ = c.Close() // nobody wants it any more
	}
}

func (h *handedConns) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

func (h *handedConns) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

func (h *handedConns) Addr() net.Addr { return &net.TCPAddr{} }
