package talk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// How a link is found to be dead. Each end lets the other hear of it often; one
// that has not been heard of for a while, not even in the middle of something
// large, is gone.
const (
	PingInterval   = 4 * time.Second
	silenceTimeout = 14 * time.Second
	checkInterval  = time.Second
	windowSize     = 1 << 20
	// sendTimeout is how long something may wait to be sent: as long as a slow
	// connection takes for all that is before it. That the connection is dead is
	// noticed otherwise.
	sendTimeout = 5 * time.Minute
	// closeTimeout is how long the other end may take to close a stream that this one
	// has closed.
	closeTimeout = 30 * time.Second
	backlog      = 1024
)

// Link is a connection that carries streams.
type Link struct {
	mux   *yamux.Session
	conn  io.ReadWriteCloser
	heard atomic.Int64 // when the other end last sent anything
	clock clock.Clock
}

// Stream is one of its streams.
type Stream struct{ *yamux.Stream }

// CloseWrite ends writing; what the other end says can still be read.
func (s Stream) CloseWrite() error { return s.Stream.Close() }

// NewLink begins to speak over a connection. One end is the broker's.
func NewLink(conn io.ReadWriteCloser, broker bool, c clock.Clock) (*Link, error) {
	l := &Link{conn: conn, clock: c}
	l.heard.Store(c().UnixNano())
	cfg := yamux.DefaultConfig()
	cfg.EnableKeepAlive = false // ours does not take a slow connection for a dead one
	cfg.ConnectionWriteTimeout = sendTimeout
	cfg.StreamOpenTimeout = sendTimeout
	cfg.StreamCloseTimeout = closeTimeout
	cfg.MaxStreamWindowSize = windowSize
	cfg.AcceptBacklog = backlog
	cfg.LogOutput = io.Discard // what matters comes back as an error
	open := yamux.Server
	if broker {
		open = yamux.Client
	}
	var err error
	if l.mux, err = open(hearing{l}, cfg); err != nil {
		return nil, fmt.Errorf("begin to speak: %w", err)
	}
	go l.keepHeard()
	go l.watchSilence()
	return l, nil
}

// hearing notes when something is heard.
type hearing struct{ *Link }

func (h hearing) Read(p []byte) (int, error) {
	n, err := h.conn.Read(p)
	if n > 0 {
		h.heard.Store(h.clock().UnixNano())
	}
	return n, err
}

func (h hearing) Write(p []byte) (int, error) { return h.conn.Write(p) }
func (h hearing) Close() error                { return h.conn.Close() }

// keepHeard lets the other end hear of us.
func (l *Link) keepHeard() {
	tick := time.NewTicker(PingInterval)
	defer tick.Stop()
	for {
		if _, err := l.mux.Ping(); err != nil && l.mux.IsClosed() {
			return
		}
		select {
		case <-tick.C:
		case <-l.mux.CloseChan():
			return
		}
	}
}

// watchSilence ends a link whose other end is not heard of any more.
func (l *Link) watchSilence() {
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-l.mux.CloseChan():
			return
		}
		if l.clock.Since(time.Unix(0, l.heard.Load())) > silenceTimeout {
			_ = l.mux.Close()
			return
		}
	}
}

// OpenStream opens a stream.
func (l *Link) OpenStream() (Stream, error) {
	s, err := l.mux.OpenStream()
	return Stream{s}, err
}

// AcceptStream waits for a stream that the other end opens.
func (l *Link) AcceptStream() (Stream, error) {
	s, err := l.mux.AcceptStream()
	return Stream{s}, err
}

// Done is closed when the link is dead, or was closed.
func (l *Link) Done() <-chan struct{} { return l.mux.CloseChan() }

// HasEnded says whether it is.
func (l *Link) HasEnded() bool { return l.mux.IsClosed() }

// Close ends the link and all its streams.
func (l *Link) Close() error { return l.mux.Close() }

// maxNoise is how much a shell may say before the outpost does.
const maxNoise = 64 << 10

// ErrNoOutpost says that something else than an outpost answered.
var ErrNoOutpost = errors.New("no outpost answers")

// AwaitLine reads until the line that begins with one of the words, and returns that
// line. What was said before it goes into the error if there is none. It reads
// byte by byte: what follows is for others.
func AwaitLine(r io.Reader, words ...string) (string, error) {
	var line strings.Builder
	var noise strings.Builder
	one := make([]byte, 1)
	for n := 0; n < maxNoise; n++ {
		if _, err := io.ReadFull(r, one); err != nil {
			return "", fmt.Errorf("%w: %w%s", ErrNoOutpost, err, lastOf(noise.String()+line.String()))
		}
		if one[0] != '\n' {
			line.WriteByte(one[0])
			continue
		}
		text := strings.TrimSuffix(line.String(), "\r")
		for _, w := range words {
			// A prompt or colours may stand before it, without an end of line.
			if i := strings.Index(text, w); i >= 0 {
				return text[i:], nil
			}
		}
		noise.WriteString(text + "\n")
		line.Reset()
	}
	return "", fmt.Errorf("%w, but somebody who talks too much%s", ErrNoOutpost, lastOf(noise.String()))
}

// lastOf is the last line that says something.
func lastOf(text string) string {
	last := ""
	scan := bufio.NewScanner(strings.NewReader(text))
	for scan.Scan() {
		if s := strings.TrimSpace(scan.Text()); s != "" {
			last = s
		}
	}
	if last == "" {
		return ""
	}
	return fmt.Sprintf("; it says %q", last[:min(len(last), 200)])
}

// SendRequest sends a request over a stream of its own and waits for the answer. before,
// if it is not nil, is called when it is about to be sent. sent is false if
// certainly nothing was.
func (l *Link) SendRequest(ctx context.Context, q *Request, before func() error) (a *Answer, sent bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	s, err := l.OpenStream()
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = s.Close() }() // which withdraws what was not answered
	stop := context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if before != nil {
		if err := before(); err != nil {
			return nil, false, err
		}
	}
	a, err = exchangeRequest(ctx, s, q)
	return a, true, err
}

// HoldRequest asks for something that stands until release is called, or the link ends.
func (l *Link) HoldRequest(ctx context.Context, q *Request) (a *Answer, release func(), err error) {
	s, err := l.OpenStream()
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	release = func() { _ = s.Close() }
	if a, err = exchangeRequest(ctx, s, q); err == nil {
		err = a.ToError()
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return a, release, nil
}

// exchangeRequest sends a request and waits for the answer.
func exchangeRequest(ctx context.Context, s Stream, q *Request) (*Answer, error) {
	a := new(Answer)
	err := SendMessage(s, q)
	if err == nil {
		err = ReceiveMessage(s, a)
	}
	if ctx.Err() != nil && err != nil {
		err = ctx.Err()
	}
	return a, err
}
