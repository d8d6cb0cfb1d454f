package lab

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// wires is the network of a lab as seen from its switch: a bridge for each
// site, and one in the middle to which they are connected.
//
//	host eth0 ══ h7 ─ site2 ─ up2 ══ core2 ─ core            without delay
//	                          up2 ══ in2 ─ relay ─ out2 ══ core2   with it
//
// Both ends of ══ are shaped.
type wires struct {
	lab *Lab
	sw  *netlink.Handle
}

// openWires opens the network.
func (l *Lab) openWires() (*wires, error) {
	sw, err := handleOf(l.Switch.PID)
	if err != nil {
		return nil, fmt.Errorf("the lab's switch: %w", err)
	}
	return &wires{l, sw}, nil
}

func (w *wires) closeWires() { w.sw.Close() }

// handleOf is a way to change the network of a process.
func handleOf(pid int) (*netlink.Handle, error) {
	ns, err := netns.GetFromPid(pid)
	if err != nil {
		return nil, err
	}
	defer func() { _ = ns.Close() }()
	runtime.LockOSThread() // it goes there and back
	defer runtime.UnlockOSThread()
	return netlink.NewHandleAt(ns)
}

func linkNamed(format string, index int) netlink.LinkAttrs {
	a := netlink.NewLinkAttrs()
	a.Name = fmt.Sprintf(format, index)
	return a
}

// makeBridges makes the bridges.
func (w *wires) makeBridges() error {
	core := netlink.NewLinkAttrs()
	core.Name = "core"
	for _, a := range append([]netlink.LinkAttrs{core}, w.bridgeLinks()...) {
		b := &netlink.Bridge{LinkAttrs: a}
		if err := w.sw.LinkAdd(b); err != nil {
			return fmt.Errorf("making the bridge %s: %w", a.Name, err)
		}
		if err := w.sw.LinkSetUp(b); err != nil {
			return err
		}
	}
	return nil
}

func (w *wires) bridgeLinks() []netlink.LinkAttrs {
	list := []netlink.LinkAttrs{linkNamed("site%d", 0)}
	for _, c := range w.lab.Clusters {
		list = append(list, linkNamed("site%d", c.Site.Index))
	}
	return list
}

// dropLinks removes links that may be there. The kernel may do it first: it
// removes the links of a host that crashed in its own time.
func (w *wires) dropLinks(names ...string) error {
	for _, name := range names {
		link, err := w.sw.LinkByName(name)
		if err != nil {
			if errors.As(err, &netlink.LinkNotFoundError{}) {
				continue
			}
			return err
		}
		if err := w.sw.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
			return fmt.Errorf("removing the link %s: %w", name, err)
		}
	}
	return nil
}

// plugHost gives a host its link.
func (w *wires) plugHost(h *Host, site *Site) error {
	port := linkNamed("h%d", h.Index)
	if err := w.dropLinks(port.Name); err != nil { // of the host before its crash
		return err
	}
	ns, err := netns.GetFromPid(h.Init.PID)
	if err != nil {
		return err
	}
	defer func() { _ = ns.Close() }()
	// Its hardware address stays when it is booted again: others remember it.
	veth := &netlink.Veth{LinkAttrs: port, PeerName: "eth0", PeerNamespace: netlink.NsFd(ns),
		PeerHardwareAddr: net.HardwareAddr{2, 'l', 'a', 'b', 0, byte(h.Index)}}
	if err := w.sw.LinkAdd(veth); err != nil {
		return fmt.Errorf("connecting %s: %w", h.Name, err)
	}
	in, err := handleOf(h.Init.PID)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := assignAddress(in, h.Address); err != nil {
		return fmt.Errorf("the network of %s: %w", h.Name, err)
	}
	if err := w.sw.LinkSetUp(veth); err != nil {
		return err
	}
	return errors.Join(w.attachPort(port.Name, fmt.Sprintf("site%d", site.Index), !h.Cut), w.shapeHost(in, h))
}

func assignAddress(in *netlink.Handle, a netip.Addr) error {
	lo, err := in.LinkByName("lo")
	if err != nil {
		return err
	}
	eth0, err := in.LinkByName("eth0")
	if err != nil {
		return err
	}
	ip := &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(16, 32)}}
	return errors.Join(in.LinkSetUp(lo), in.AddrAdd(eth0, ip), in.LinkSetUp(eth0))
}

// attachPort connects a port to a bridge, or leaves it without: then what comes in
// vanishes, as on a line that was cut.
func (w *wires) attachPort(port, bridge string, on bool) error {
	p, err := w.sw.LinkByName(port)
	if err != nil {
		return err
	}
	if !on {
		return w.sw.LinkSetNoMaster(p)
	}
	b, err := w.sw.LinkByName(bridge)
	if err != nil {
		return err
	}
	return w.sw.LinkSetMaster(p, b)
}

// shapeHost sets the rate of a host's link, in both directions.
func (w *wires) shapeHost(in *netlink.Handle, h *Host) error {
	out := limitRate(w.sw, "h"+strconv.Itoa(h.Index), h.Mbps)
	if len(h.Pairs) > 0 {
		return errors.Join(out, w.shapePairs(in, h))
	}
	return errors.Join(out, limitRate(in, "eth0", h.Mbps))
}

// queueTime is how much a link's queue holds, and minQueue what every one does.
const (
	queueTime = 50 * time.Millisecond
	minQueue  = 32 << 10
)

// limitRate limits the rate at which an interface sends.
func limitRate(on *netlink.Handle, name string, mbps float64) error {
	link, err := on.LinkByName(name)
	if err != nil {
		return err
	}
	attrs := netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(1, 0),
		Parent: netlink.HANDLE_ROOT}
	if mbps <= 0 {
		// Removing one that is not there is an error that does not matter.
		_ = on.QdiscDel(&netlink.Tbf{QdiscAttrs: attrs})
		return nil
	}
	if err := on.QdiscReplace(rateQueue(attrs, mbps, minQueue)); err != nil {
		return fmt.Errorf("setting the rate of %s: %w", name, err)
	}
	return nil
}

// rateQueue is a queue that sends at a rate and holds least bytes or more.
func rateQueue(attrs netlink.QdiscAttrs, mbps float64, least uint32) *netlink.Tbf {
	rate := mbps * 1e6 / 8
	burst := max(uint32(rate*0.002), 5000)
	limit := burst + max(uint32(rate*queueTime.Seconds()), least)
	return &netlink.Tbf{QdiscAttrs: attrs, Rate: uint64(rate), Limit: limit, Buffer: netlink.Xmittime(uint64(rate), burst)}
}

// joinSite connects a site to the others, anew if it was before. Whoever is delayed
// goes through a process of ours: kernels may lack netem.
func (w *wires) joinSite(site *Site) error {
	i := site.Index
	up, core, in, out := fmt.Sprintf("up%d", i), fmt.Sprintf("core%d", i), fmt.Sprintf("in%d", i), fmt.Sprintf("out%d", i)
	group := "wan-" + site.Name
	if err := w.lab.groups.killAll(group); err != nil {
		return err
	}
	if err := w.dropLinks(up, core); err != nil { // and with them their other ends
		return err
	}
	pairs := [][2]string{{up, core}}
	if site.WAN.Delay > 0 {
		pairs = [][2]string{{up, in}, {core, out}}
	}
	for _, p := range pairs {
		a := netlink.NewLinkAttrs()
		a.Name = p[0]
		if err := w.sw.LinkAdd(&netlink.Veth{LinkAttrs: a, PeerName: p[1]}); err != nil {
			return fmt.Errorf("connecting the site %s: %w", site.Name, err)
		}
		for _, name := range p {
			link, err := w.sw.LinkByName(name)
			if err != nil {
				return err
			}
			if err := w.sw.LinkSetUp(link); err != nil {
				return err
			}
		}
	}
	if site.WAN.Delay > 0 {
		if err := w.lab.groups.addHost(group, limits{pin: -1}); err != nil {
			return err
		}
		spec := relaySpec{Switch: w.lab.Switch, A: in, B: out, Delay: site.WAN.Delay / 2}
		if _, err := w.lab.spawnProcess(roleRelay, group, 0, &spec); err != nil {
			return err
		}
	}
	return errors.Join(
		limitRate(w.sw, up, site.WAN.Mbps), limitRate(w.sw, core, site.WAN.Mbps),
		w.attachPort(core, "core", true), w.attachPort(up, fmt.Sprintf("site%d", i), !site.Cut))
}
