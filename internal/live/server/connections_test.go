package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// listener is a socket in a folder of the test.
func listener(t *testing.T) (net.Listener, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	return l, path
}

func TestAUserWithTooManyConnectionsIsRefusedUntilOneIsClosed(t *testing.T) {
	raw, path := listener(t)
	l := &perUser{Listener: raw, limit: 2, open: map[uint32]int{}}
	uid := uint32(os.Getuid() + 1)
	for range 2 {
		if !l.enterUser(uid) {
			t.Fatal("refused before the limit")
		}
	}
	if l.enterUser(uid) {
		t.Error("a third connection is let in")
	}
	if !l.enterUser(uid + 1) {
		t.Error("another user is kept out")
	}
	l.leaveUser(uid)
	if !l.enterUser(uid) {
		t.Error("refused although one was closed")
	}

	// Connections are counted until they are closed, once however often that is said.
	l.limit = 1
	accepted := make(chan net.Conn, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	first := <-accepted
	if _, err := peerUser(first); err != nil {
		t.Errorf("it is not known whose an accepted connection is: %v", err)
	}
	_, _ = first.Close(), first.Close()
	l.mu.Lock()
	if n := l.open[uint32(os.Getuid())]; n != 0 {
		t.Errorf("%d connections are counted after all were closed", n)
	}
	l.mu.Unlock()
	_ = raw.Close()
	for range accepted {
	}
}

func TestARequestsBodyIsReadBeforeItIsAnswered(t *testing.T) {
	raw, path := listener(t)
	srv := &http.Server{Handler: answerJSON(func(r *http.Request) (string, error) {
		data, err := io.ReadAll(r.Body)
		return string(data), err
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(raw) }()
	defer func() { _ = srv.Close(); <-done }()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	defer client.CloseIdleConnections()
	for _, size := range []int{0, 10, maxBody + 1} {
		res, err := client.Post("http://broker/", "application/json", io.LimitReader(endless{}, int64(size)))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if ok := res.StatusCode == http.StatusOK; ok != (size <= maxBody) || ok && len(text) != size+3 {
			t.Errorf("%d bytes: %s, %d bytes", size, res.Status, len(text))
		}
	}
}

// endless is a body without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// oneConn is a listener to which one connection comes.
type oneConn struct {
	conns chan net.Conn
	ended chan struct{}
}

func (l oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

func (l oneConn) Close() error   { close(l.ended); return nil }
func (l oneConn) Addr() net.Addr { return &net.UnixAddr{} }

func TestARequestWhoseBodyDoesNotArriveIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, theirs := net.Pipe()
		l := oneConn{make(chan net.Conn, 1), make(chan struct{})}
		l.conns <- theirs
		srv := &http.Server{Handler: answerJSON(func(*http.Request) (string, error) {
			return "",
				errors.New("asked without a body")
		})}
		var serving sync.WaitGroup
		serving.Go(func() { _ = srv.Serve(l) })
		began := time.Now()
		_, err := io.WriteString(mine, "POST / HTTP/1.1\r\nHost: broker\r\nContent-Length: 10\r\n\r\nx")
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(mine) // until the connection is cut
		if took := time.Since(began); took < bodyTimeout || took > 2*bodyTimeout ||
			strings.Contains(string(answer), "without a body") {
			t.Errorf("after %v: %q", took, answer)
		}
		_ = mine.Close()
		_ = srv.Close()
		serving.Wait()
	})
}
