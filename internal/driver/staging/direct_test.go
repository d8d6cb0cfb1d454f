package staging

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// offers makes an offer that is withdrawn at the end of the test.
func offers(t *testing.T, s *Site, w driver.FileRequest) *Offering {
	t.Helper()
	o, err := s.OfferFiles(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() })
	return o
}

// has says whether a site keeps a file, as a tree of its own, with this content.
func has(t *testing.T, s *Site, tree, name string, want []byte) {
	t.Helper()
	kept, err := s.openStore()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := depot.FetchTree(t.Context(), kept, depot.ID(tree), dir); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s has %d bytes, want %d: %v", name, len(got), len(want), err)
	}
}

func TestOneSiteFetchesFromAnother(t *testing.T) {
	from, to, third := site(t, nil), site(t, nil), site(t, nil)
	for i, size := range []int{0, 1, 100_000, 3 << 20, 3<<20 + 5} { // cut at pages, and at bytes
		data := noise(byte(i), size)
		if size > 1<<20 {
			clear(data[1<<20 : 1<<20+300_000]) // a hole
		}
		write(t, filepath.Join(from.Home, "data", "x"), data)
		write(t, filepath.Join(from.Home, "data", "secret"), noise(99, 1000))
		o := offers(t, from, driver.FileRequest{Path: "data/x"})
		for n, s := range []*Site{to, to, third} {
			if n == 2 { // from where it was brought to
				o = offers(t, to, driver.FileRequest{Tree: o.Tree})
			}
			m, err := s.TakeOffer(t.Context(), o.Offer)
			if err != nil || m.Tree != o.Tree || m.Bytes != int64(size) || n == 1 && m.Sent != 0 || n != 1 &&
				(m.Sent == 0 || m.Took <= 0) {
				t.Fatalf("%d bytes, the %d. time: %+v %v", size, n+1, m, err)
			}
			has(t, s, o.Tree, "x", data)
		}
		if m, err := to.BringTree(t.Context(), o.Tree); err != nil || m.Sent != 0 || m.Bytes != int64(size) {
			t.Errorf("what is there is brought: %+v %v", m, err) // from no depot at all
		}
	}
	for _, w := range []driver.FileRequest{{Path: "none"}, {Tree: string(chunk.IDOf([]byte("x")))}, {}} {
		if o, err := from.OfferFiles(t.Context(), w); err == nil {
			_ = o.Close()
			t.Errorf("%+v is offered", w)
		}
	}
}

// between is a line that can be cut and blocked.
type between struct {
	net.Listener
	to      string
	carried atomic.Int64
	cutAt   atomic.Int64 // after so many bytes in all
	onCut   func()       // is called then, before anybody notices
	blocked atomic.Bool
}

// line has an offer reached by a line that can be cut.
func line(t *testing.T, o *driver.Offer) *between {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(o.At.Addresses[0])
	b := &between{Listener: l, to: net.JoinHostPort("127.0.0.1", port)}
	b.cutAt.Store(1 << 62)
	o.At.Addresses = []string{l.Addr().String()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if b.blocked.Load() {
				_ = c.Close()
				continue
			}
			b.carry(c)
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return b
}

func (b *between) carry(c net.Conn) {
	defer func() { _ = c.Close() }()
	far, err := net.Dial("tcp", b.to)
	if err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(far, c)
		_ = far.Close()
		close(done)
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := far.Read(buf)
		if _, e := c.Write(buf[:n]); err != nil || e != nil {
			break
		}
		if b.carried.Add(int64(n)) > b.cutAt.Load() {
			b.onCut()
			break
		}
	}
	_ = c.Close()
	_ = far.Close()
	<-done
}

func TestATransferThatBreaksGoesOnAndOneThatIsBlockedSaysSo(t *testing.T) {
	from, to := site(t, nil), site(t, nil)
	data := noise(1, 24<<20+1)
	write(t, filepath.Join(from.Home, "x"), data)
	o := offers(t, from, driver.FileRequest{Path: "x"}).Offer
	b := line(t, &o)
	b.cutAt.Store(18 << 20)
	b.onCut = func() { b.cutAt.Store(1 << 62) }
	m, err := to.TakeOffer(t.Context(), o)
	if err != nil || m.Sent < 24<<20 {
		t.Fatalf("%+v %v", m, err)
	}
	if all := b.carried.Load(); all > 40<<20 {
		t.Errorf("%d bytes came for %d", all, len(data))
	}
	has(t, to, o.Tree, "x", data)

	// Cut in the middle and blocked from then on: what came stays.
	data = noise(2, 24<<20+1)
	write(t, filepath.Join(from.Home, "x"), data)
	o = offers(t, from, driver.FileRequest{Path: "x"}).Offer
	clean := o
	b = line(t, &o)
	b.cutAt.Store(18 << 20)
	b.onCut = func() { b.blocked.Store(true) }
	first, err := to.TakeOffer(t.Context(), o)
	if err == nil || errors.Is(err, driver.ErrUnreached) || first.Sent == 0 {
		t.Errorf("blocked: %+v %v", first, err)
	}
	if m, err := to.TakeOffer(t.Context(), clean); err != nil || m.Sent > 25<<20-first.Sent {
		t.Errorf("%d bytes came before, and then %d: %v", first.Sent, m.Sent, err)
	}
	has(t, to, o.Tree, "x", data)

	// Blocked from the beginning.
	write(t, filepath.Join(from.Home, "y"), data[:1000])
	o = offers(t, from, driver.FileRequest{Path: "y"}).Offer
	line(t, &o).blocked.Store(true)
	if m, err := to.TakeOffer(t.Context(), o); !errors.Is(err, driver.ErrUnreached) {
		t.Errorf("%+v %v", m, err)
	}
}

func TestAFileThatChangesIsNotTakenForWhatItWas(t *testing.T) {
	from, to := site(t, nil), site(t, nil)
	write(t, filepath.Join(from.Home, "x"), noise(1, 2<<20))
	o := offers(t, from, driver.FileRequest{Path: "x"})
	write(t, filepath.Join(from.Home, "x"), noise(2, 2<<20))
	if m, err := to.TakeOffer(t.Context(), o.Offer); !errors.Is(err, depot.ErrDamaged) ||
		errors.Is(err, driver.ErrUnreached) {
		t.Errorf("%+v %v", m, err)
	}
}

func TestAnOfferIsForThoseWhoKnowItAndGoneWhenItIsWithdrawn(t *testing.T) {
	from, to := site(t, nil), site(t, nil)
	write(t, filepath.Join(from.Home, "x"), noise(1, 1000))
	write(t, filepath.Join(from.Home, "y"), noise(2, 1000))
	o, other := offers(t, from, driver.FileRequest{Path: "x"}), offers(t, from, driver.FileRequest{Path: "y"})
	// The token of one is of no use for another.
	wrong := o.Offer
	wrong.At.Token = other.At.Token
	if _, err := to.TakeOffer(t.Context(), wrong); err == nil {
		t.Error("a stranger got it")
	}
	wrong = o.Offer
	wrong.Tree = other.Tree
	if _, err := to.TakeOffer(t.Context(), wrong); !errors.Is(err, depot.ErrMissing) {
		t.Errorf("another tree is given: %v", err)
	}
	// Nobody can put anything there.
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return o.At.DialOwner(ctx) }}}
	for _, verb := range []string{"put", "missing", "hold", "patch", "sync", ""} {
		answer, err := c.Post("http://site/"+verb, "application/octet-stream", bytes.NewReader(make([]byte, 64)))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s is answered %s", verb, answer.Status)
		}
	}
	if _, err := to.TakeOffer(t.Context(), o.Offer); err != nil {
		t.Error(err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	for _, address := range o.At.Addresses {
		if c, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			_ = c.Close()
			t.Errorf("somebody listens at %s", address)
		}
	}
}
