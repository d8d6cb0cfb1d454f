package rendezvous

import (
	"errors"
	"io"
	"net"
	"sync"
)

// RelayToSocket carries bytes between a connection and the broker's Unix socket until
// one of them ends. It closes the connection.
func RelayToSocket(c net.Conn, socket string) {
	defer func() { _ = c.Close() }()
	b, err := net.Dial("unix", socket)
	if err != nil {
		return // whoever came tries again
	}
	JoinStreams(c, b)
}

// JoinStreams carries bytes both ways until both have ended, and closes both. What ends
// one way ends the other way only when it is said: an answer may still come.
func JoinStreams(a, b io.ReadWriteCloser) {
	var both sync.WaitGroup
	carry := func(to, from io.ReadWriteCloser) {
		_, err := io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil && half.CloseWrite() == nil {
			return
		}
		_ = errors.Join(a.Close(), b.Close())
	}
	both.Go(func() { carry(a, b) })
	both.Go(func() { carry(b, a) })
	both.Wait()
	_ = errors.Join(a.Close(), b.Close())
}
