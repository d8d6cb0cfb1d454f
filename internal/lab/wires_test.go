package lab

import (
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// newNetwork makes a network namespace that ends when it is closed.
func newNetwork(t *testing.T) netns.NsHandle {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	here, err := netns.Get()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = here.Close() }()
	made, err := netns.New()
	if err == nil {
		err = netns.Set(here)
	}
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// The kernel removes the links of a host that crashed in its own time: one
// may go between being looked up and being removed.
func TestALinkThatGoesByItselfIsNoMistake(t *testing.T) {
	hub := newNetwork(t)
	defer func() { _ = hub.Close() }()
	sw, err := netlink.NewHandleAt(hub)
	if err != nil {
		t.Fatal(err)
	}
	w := &wires{sw: sw}
	defer w.closeWires()
	for range 20 {
		host := newNetwork(t)
		var names []string
		for i := range 50 {
			port := linkNamed("h%d", i)
			err := sw.LinkAdd(&netlink.Veth{LinkAttrs: port, PeerName: linkNamed("eth%d", i).Name, PeerNamespace: netlink.NsFd(host)})
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, port.Name)
		}
		if err := host.Close(); err != nil {
			t.Fatal(err)
		}
		if err := w.dropLinks(names...); err != nil {
			t.Fatal(err)
		}
	}
}
