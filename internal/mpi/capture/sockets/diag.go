package sockets

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"unsafe"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// socket is one end of a connection as the kernel tells of it.
type socket struct {
	cookie         uint64 // no other socket has or had it
	inode          uint32 // 0: no process has it any more
	listens        bool
	local, remote  netip.AddrPort
	sent, received uint64 // without what was sent again
}

// Of what the kernel says of a socket (struct inet_diag_msg), and of numbers that
// follow in an attribute.
const (
	messageBytes = 72
	atPorts      = 4
	atLocal      = 8
	atRemote     = 24
	atCookie     = 44
	atInode      = 68
	attrInfo     = 2 // INET_DIAG_INFO
	stateListen  = 10
)

// Where the numbers stand that are wanted of struct tcp_info.
const (
	atReceived = int(unsafe.Offsetof(unix.TCPInfo{}.Bytes_received))
	atSent     = int(unsafe.Offsetof(unix.TCPInfo{}.Bytes_sent))
	atAgain    = int(unsafe.Offsetof(unix.TCPInfo{}.Bytes_retrans))
)

var errShort = errors.New("the kernel's answer about a socket is too short")

// parseSocket reads what the kernel says of one socket.
func parseSocket(m []byte) (socket, error) {
	if len(m) < messageBytes {
		return socket{}, errShort
	}
	native := binary.NativeEndian
	address := func(at int) netip.Addr {
		if m[0] == unix.AF_INET {
			return netip.AddrFrom4([4]byte(m[at:]))
		}
		// A socket for both families has addresses of the older one in words of the newer.
		return netip.AddrFrom16([16]byte(m[at:])).Unmap()
	}
	s := socket{
		cookie:  uint64(native.Uint32(m[atCookie:])) | uint64(native.Uint32(m[atCookie+4:]))<<32,
		inode:   native.Uint32(m[atInode:]),
		listens: m[1] == stateListen,
		local:   netip.AddrPortFrom(address(atLocal), binary.BigEndian.Uint16(m[atPorts:])),
		remote:  netip.AddrPortFrom(address(atRemote), binary.BigEndian.Uint16(m[atPorts+2:])),
	}
	for rest := m[messageBytes:]; len(rest) >= unix.SizeofRtAttr; {
		size, kind := int(native.Uint16(rest)), native.Uint16(rest[2:])
		if size < unix.SizeofRtAttr || size > len(rest) {
			return socket{}, errShort
		}
		if info := rest[unix.SizeofRtAttr:size]; kind == attrInfo && len(info) >= atAgain+8 {
			s.received = native.Uint64(info[atReceived:])
			if sent, again := native.Uint64(info[atSent:]), native.Uint64(info[atAgain:]); sent > again {
				s.sent = sent - again
			}
		}
		rest = rest[min((size+3)&^3, len(rest)):]
	}
	return s, nil
}

// listSockets are the TCP sockets that there are in this network namespace.
func listSockets() ([]socket, error) {
	var list []socket
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		req := nl.NewNetlinkRequest(nl.SOCK_DIAG_BY_FAMILY, unix.NLM_F_DUMP)
		wanted := make([]byte, 56) // struct inet_diag_req_v2
		wanted[0], wanted[1], wanted[2] = family, unix.IPPROTO_TCP, 1<<(attrInfo-1)
		binary.NativeEndian.PutUint32(wanted[4:], 0xfff) // in whatever state
		req.AddRawData(wanted)
		answer, err := req.Execute(unix.NETLINK_INET_DIAG, nl.SOCK_DIAG_BY_FAMILY)
		if err != nil && !errors.Is(err, nl.ErrDumpInterrupted) { // who is missing then is there the next time
			return nil, err
		}
		for _, m := range answer {
			s, err := parseSocket(m)
			if err != nil {
				return nil, err
			}
			list = append(list, s)
		}
	}
	return list, nil
}

// Groups of messages about sockets that end (enum sknetlink_groups).
const (
	groupEnded4 = 1
	groupEnded6 = 3
)

// ends tells of sockets that end, with what they sent and received in all.
type ends struct{ from *nl.NetlinkSocket }

// listenEnded is without anything to tell if the kernel does not let us.
func listenEnded() ends {
	from, err := nl.Subscribe(unix.NETLINK_INET_DIAG, groupEnded4, groupEnded6)
	if err != nil {
		return ends{}
	}
	return ends{from}
}

func (e ends) closeListener() {
	if e.from != nil {
		e.from.Close()
	}
}

// waitEnded waits so many milliseconds for sockets that end.
func (e ends) waitEnded(milliseconds int) []socket {
	fds := []unix.PollFd{{Fd: -1}} // nobody, ever
	if e.from != nil {
		fds[0] = unix.PollFd{Fd: int32(e.from.GetFd()), Events: unix.POLLIN}
	}
	if n, err := unix.Poll(fds, milliseconds); n < 1 || err != nil {
		return nil
	}
	messages, _, err := e.from.Receive()
	if err != nil {
		return nil // too many at once: what was seen of them before counts
	}
	var list []socket
	for _, m := range messages {
		if s, err := parseSocket(m.Data); err == nil {
			list = append(list, s)
		}
	}
	return list
}
