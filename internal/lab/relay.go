package lab

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// relaySpec is what a relay is told.
type relaySpec struct {
	Switch Process
	A, B   string
	Delay  time.Duration
}

const (
	// maxFrame is the largest that can come: segments are put together before
	// they get here, and a header that says so comes before them.
	maxFrame = 70_000
	// maxInFlight bounds what a relay holds: more is lost, as in any queue.
	maxInFlight = 64 << 20
	// socketBuffer is what may wait before the relay gets to see it.
	socketBuffer = 16 << 20
)

// relayMain hands every frame that comes in at one interface out at the other,
// after a while.
func relayMain() error {
	var spec relaySpec
	if !readSpec(&spec) {
		return nil
	}
	a, b, err := spec.openInterfaces()
	reportReady(err)
	if err != nil {
		return err
	}
	failed := make(chan error, 4)
	for _, way := range [][2]int{{a, b}, {b, a}} {
		q := &delayLine{delay: spec.Delay, now: clock.RealClock(), more: make(chan struct{}, 1)}
		go func() { failed <- q.receiveFrames(way[0]) }()
		go func() { failed <- q.sendFrames(way[1]) }()
	}
	return <-failed
}

// openInterfaces opens the interfaces, in the network of the switch.
func (s *relaySpec) openInterfaces() (a, b int, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/net", s.Switch.PID), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, 0, err
	}
	own, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, 0, err
	}
	if !s.Switch.IsAlive() {
		return 0, 0, errors.New("the switch has ended")
	}
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return 0, 0, err
	}
	a, err1 := packetSocket(s.A)
	b, err2 := packetSocket(s.B)
	return a, b, errors.Join(err1, err2, unix.Setns(own, unix.CLONE_NEWNET), unix.Close(fd), unix.Close(own))
}

func packetSocket(name string) (int, error) {
	link, err := net.InterfaceByName(name)
	if err != nil {
		return 0, err
	}
	all := uint16(unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8) // in network order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(all))
	if err != nil {
		return 0, err
	}
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, socketBuffer),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, socketBuffer),
		unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP,
			&unix.PacketMreq{Ifindex: int32(link.Index), Type: unix.PACKET_MR_PROMISC}),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: link.Index}))
	if err != nil {
		return 0, fmt.Errorf("listening on %s: %w", name, err)
	}
	return fd, nil
}

// delayLine is one direction: frames and when each is due. All wait equally
// long, so they stay in order.
type delayLine struct {
	delay time.Duration
	now   clock.Clock
	more  chan struct{} // there is something in a line that was empty

	mu     sync.Mutex
	frames []frame
	bytes  int
}

type frame struct {
	due  time.Time
	data []byte
}

// receiveFrames receives until the interface is gone.
func (q *delayLine) receiveFrames(fd int) error {
	buf := make([]byte, maxFrame)
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		switch {
		case errors.Is(err, unix.EINTR) || errors.Is(err, unix.ENOBUFS):
			continue
		case err != nil:
			return fmt.Errorf("receiving: %w", err)
		}
		f := frame{q.now().Add(q.delay), append([]byte(nil), buf[:n]...)}
		q.mu.Lock()
		if q.bytes+n <= maxInFlight {
			q.frames = append(q.frames, f)
			q.bytes += n
		}
		q.mu.Unlock()
		select {
		case q.more <- struct{}{}:
		default:
		}
	}
}

// sendFrames sends what is due.
func (q *delayLine) sendFrames(fd int) error {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1000, 0, 0, 0) // a microsecond; otherwise a little late
	for {
		q.mu.Lock()
		if len(q.frames) == 0 {
			q.mu.Unlock()
			<-q.more
			continue
		}
		f := q.frames[0]
		q.frames[0].data = nil
		q.frames = q.frames[1:]
		q.bytes -= len(f.data)
		q.mu.Unlock()
		// Not time.Sleep, which would be up to a millisecond late. To wake up a
		// little early does no harm: one looks again.
		for wait := f.due.Sub(q.now()); wait > 0; wait = f.due.Sub(q.now()) {
			ts := unix.NsecToTimespec(int64(wait))
			_ = unix.Nanosleep(&ts, nil)
		}
		// A frame that cannot be sent is lost: so it is on any line.
		if _, err := unix.Write(fd, f.data); errors.Is(err, unix.ENXIO) || errors.Is(err, unix.EBADF) {
			return fmt.Errorf("sending: %w", err)
		}
	}
}
