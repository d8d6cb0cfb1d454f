package lab

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// SetPair limits what two hosts can send each other, each way, below what their
// links allow: as if others used the way between them. 0 takes the limit away.
func (l *Lab) SetPair(ctx context.Context, a, b string, mbps float64) error {
	if mbps < 0 || mbps > maxMbps {
		return fmt.Errorf("from 0 (not limited) to %d Mbit/s, not %g", maxMbps, mbps)
	}
	if a == b {
		return fmt.Errorf("%s with itself needs no network", a)
	}
	return l.changeState(ctx, func() error {
		w, err := l.openWires()
		if err != nil {
			return err
		}
		defer w.closeWires()
		for _, way := range [][2]string{{a, b}, {b, a}} {
			h, err1 := l.FindHost(way[0])
			peer, err2 := l.FindHost(way[1])
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			if h.Pairs == nil {
				h.Pairs = map[string]float64{}
			}
			h.Pairs[peer.Name] = mbps
			if !h.IsUp() {
				continue
			}
			in, err := handleOf(h.Init.PID)
			if err != nil {
				return err
			}
			err = errors.Join(w.shapeHost(in, h))
			in.Close()
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func doPair(ctx context.Context, l *Lab, args []string) error {
	mbps, err := strconv.ParseFloat(args[2], 64)
	if err != nil {
		return err
	}
	for _, a := range l.theseHosts(args[0]) {
		for _, b := range l.theseHosts(args[1]) {
			if a == b && args[0] != args[1] || a >= b && args[0] == args[1] && args[0] == allHosts {
				continue // with itself, or done already
			}
			if err := l.SetPair(ctx, a, b, mbps); err != nil {
				return err
			}
		}
	}
	return nil
}

// theseHosts is the host of a name, or all that are in clusters.
func (l *Lab) theseHosts(name string) []string {
	if name != allHosts {
		return []string{name}
	}
	var names []string
	for _, c := range l.Clusters {
		for _, h := range c.Hosts {
			names = append(names, h.Name)
		}
	}
	return names
}

// unlimited is more than any link has, in bits a second.
const unlimited = 100_000_000_000

// minPairQueue is what a port of a common switch holds. A pair that others leave a
// small part of the way still has the queue of the whole of it: with one for its part
// alone, two messages of 48 KB at once would lose packets each time.
const minPairQueue = 128 << 10

// The classes of a host that has pairs: one that all share, which has the rate of
// its link, one for what goes to no such pair, and one for each of them.
const (
	classAll  = 1
	classRest = 2
	classPair = 16 // and up, by the peer's index
)

// shapePairs shapes what a host sends to each peer by itself. What is sent waits
// in the queue of its pair, so that a slow one does not hold up the others. Rates
// that only change are changed in place: nothing is lost.
func (w *wires) shapePairs(in *netlink.Handle, h *Host) error {
	link, err := in.LinkByName("eth0")
	if err != nil {
		return err
	}
	at := link.Attrs().Index
	if err := ensureClassful(in, link); err != nil {
		return err
	}
	rate := uint64(h.Mbps * 1e6)
	if rate == 0 {
		rate = unlimited
	}
	if err := replaceClass(in, at, netlink.MakeHandle(1, 0), classAll, rate); err != nil {
		return err
	}
	if err := replaceClass(in, at, netlink.MakeHandle(1, classAll), classRest, rate); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(h.Pairs)) {
		peer, err := w.lab.FindHost(name)
		if err != nil {
			return err
		}
		if err := limitPair(in, at, peer, rate, h.Pairs[name]); err != nil {
			return fmt.Errorf("the way from %s to %s: %w", h.Name, name, err)
		}
	}
	return nil
}

// ensureClassful makes the interface sort what it sends, if it does not yet.
func ensureClassful(in *netlink.Handle, link netlink.Link) error {
	list, err := in.QdiscList(link)
	if err != nil {
		return err
	}
	root := netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(1, 0),
		Parent: netlink.HANDLE_ROOT}
	for _, q := range list {
		if q.Attrs().Parent != netlink.HANDLE_ROOT {
			continue
		}
		if q.Type() == "htb" {
			return nil
		}
		if q.Type() == "tbf" {
			if err := in.QdiscDel(q); err != nil {
				return err
			}
		}
	}
	htb := netlink.NewHtb(root)
	htb.Defcls = classRest
	return in.QdiscReplace(htb)
}

func replaceClass(in *netlink.Handle, at int, parent uint32, minor uint16, bits uint64) error {
	return in.ClassReplace(netlink.NewHtbClass(netlink.ClassAttrs{LinkIndex: at, Parent: parent,
		Handle: netlink.MakeHandle(1, minor)},
		netlink.HtbClassAttrs{Rate: bits, Ceil: bits, Quantum: 60_000}))
}

// limitPair gives what goes to one peer a class and a rate of its own.
func limitPair(in *netlink.Handle, at int, peer *Host, rate uint64, mbps float64) error {
	minor := uint16(classPair + peer.Index)
	if err := replaceClass(in, at, netlink.MakeHandle(1, classAll), minor, rate); err != nil {
		return err
	}
	if mbps == 0 {
		mbps = maxMbps
	}
	q := rateQueue(netlink.QdiscAttrs{LinkIndex: at, Handle: netlink.MakeHandle(0x100+minor, 0),
		Parent: netlink.MakeHandle(1, minor)}, mbps, minPairQueue)
	if err := in.QdiscReplace(q); err != nil {
		return err
	}
	address := peer.Address.As4()
	// A priority of its own lets the filter be replaced by itself.
	err := in.FilterReplace(&netlink.U32{
		FilterAttrs: netlink.FilterAttrs{LinkIndex: at, Parent: netlink.MakeHandle(1, 0), Priority: minor,
			Protocol: unix.ETH_P_IP},
		ClassId: netlink.MakeHandle(1, minor),
		Sel: &netlink.TcU32Sel{Flags: netlink.TC_U32_TERMINAL, Nkeys: 1,
			Keys: []netlink.TcU32Key{{Mask: 0xffffffff, Val: binary.BigEndian.Uint32(address[:]), Off: 16}}}, // destination
	})
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}
