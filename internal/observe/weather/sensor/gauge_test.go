package sensor

import (
	"net"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
)

// tcpPair is a connection of this machine with itself.
func tcpPair(t *testing.T) (from, to net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if from, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = from.Close() })
	if to, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = to.Close() })
	return from, to
}

// A stream whose writer comes too late is not the way's: more is to wait then.
func TestAWayThatWaitsForUsIsNoticed(t *testing.T) {
	from, _ := tcpPair(t)
	g := gaugeOf(from)
	if _, err := from.Write([]byte("a little")); err != nil {
		t.Fatal(err)
	}
	clocktest.WaitFor(t, "a little has been sent", g.isStarved)
	for before := g.full; g.growBuffer(); before = g.full {
		if g.full <= before {
			t.Fatalf("%d bytes may wait after %d", g.full, before)
		}
	}
	if g.full != mostWaiting {
		t.Errorf("at most %d bytes may wait", g.full)
	}
	if err := from.(*net.TCPConn).SetWriteBuffer(1 << 20); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = from.Write(make([]byte, 64<<20)) }() // nobody reads it
	clocktest.WaitFor(t, "more is written than can be sent", func() bool { return !g.isStarved() })
}
