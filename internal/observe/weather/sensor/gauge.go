package sensor

import (
	"crypto/tls"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// gauge asks the kernel about a connection. Where it cannot, it says so.
type gauge struct {
	raw  syscall.RawConn
	full int // bytes that may wait to be sent
}

// What may wait to be sent: enough that the way never waits for us, not so much
// that a slow one is kept busy long after we are done. On a busy machine it may take us long to
// get a processor: where nothing is left to be sent more is to wait.
const (
	leastWaiting = 32 << 10
	mostWaiting  = 4 << 20
	waitingFor   = 0.005 // seconds
)

func gaugeOf(c net.Conn) *gauge {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	g := &gauge{}
	if s, ok := c.(syscall.Conn); ok {
		g.raw, _ = s.SyscallConn()
	}
	g.limitBuffer(leastWaiting)
	return g
}

// acknowledgedBytes is how many bytes the other end has got since the connection began,
// also those after a gap: where a queue is full packets are lost, and what came after
// the first of them counts as acknowledged only once it has been sent again.
func (g *gauge) acknowledgedBytes() (n int64, ok bool) {
	if g.raw == nil {
		return 0, false
	}
	err := g.raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			n, ok = int64(info.Bytes_acked)+int64(info.Sacked)*int64(info.Snd_mss), info.Bytes_acked > 0
		}
	})
	return n, ok && err == nil
}

// isStarved reports whether all that was written has been sent: the way waits for us.
func (g *gauge) isStarved() (starved bool) {
	if g.raw == nil {
		return false
	}
	err := g.raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		starved = err == nil && info.Notsent_bytes == 0
	})
	return starved && err == nil
}

// growBuffer has twice as much wait to be sent, unless that is too much.
func (g *gauge) growBuffer() bool {
	if g.full >= mostWaiting {
		return false
	}
	g.limitBuffer(min(2*g.full, mostWaiting))
	return true
}

// keepFull has as much wait to be sent as a stream of this speed needs.
func (g *gauge) keepFull(bytesPerSecond float64) {
	want := int(min(max(bytesPerSecond*waitingFor, leastWaiting), mostWaiting))
	if want > 2*g.full {
		g.limitBuffer(want)
	}
}

func (g *gauge) limitBuffer(bytes int) {
	g.full = bytes
	if g.raw == nil {
		return
	}
	_ = g.raw.Control(func(fd uintptr) {
		// Without it more is sent than has to be, that is all.
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, bytes)
	})
}
