package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Options are how a lab is made.
type Options struct {
	Say       func(text string) // what is being done; may be nil
	NoManager bool              // hosts alone, nothing on them
}

// hostNamespaces are those that a host has of its own.
const hostNamespaces = unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC

// CreateLab makes a lab and returns when its hosts run and its managers take jobs. What
// is left of an earlier one of that name is removed first. The lab stays when
// this process ends; if it cannot be made nothing stays.
func CreateLab(ctx context.Context, p *Plan, o Options) (*Lab, error) {
	if err := errors.Join(p.checkPlan(), CheckAble()); err != nil {
		return nil, err
	}
	if err := refuseForeign(BaseFolder(), p.Name); err != nil {
		return nil, err
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	for i := range p.Clusters {
		if _, err := findManager(p.Clusters[i].Manager); err != nil && !o.NoManager {
			return nil, err
		}
	}
	l, err := makeHosts(ctx, p, o.Say)
	if err == nil && !o.NoManager {
		err = l.startManagers(ctx, o.Say)
	}
	if err != nil {
		// Also when we were interrupted: ctx is of no use any more.
		return nil, errors.Join(err, RemoveLab(context.WithoutCancel(ctx), p.Name))
	}
	return l, nil
}

func makeHosts(ctx context.Context, p *Plan, say func(string)) (*Lab, error) {
	unlock, err := lockLab(ctx, BaseFolder(), p.Name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := removeAll(BaseFolder(), p.Name); err != nil {
		return nil, fmt.Errorf("removing what was left of the lab %s: %w", p.Name, err)
	}
	l := draftLab(p)
	if l.groups, err = findGroups(BaseFolder(), p.Name); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(l.Dir, 0o755); err != nil {
		return nil, err
	}
	if err := errors.Join(l.writeEtc(p.Users), l.groups.makeGroups(), l.saveState()); err != nil {
		return nil, err
	}
	say(fmt.Sprintf("lab %s: %d hosts", l.Name, p.TotalHosts()))
	if err := l.startSwitch(); err != nil {
		return nil, err
	}
	for h := range l.eachHost {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := l.bootHost(h); err != nil {
			return nil, err
		}
	}
	return l, l.saveState()
}

// draftLab is the lab of a plan before anything of it exists.
func draftLab(p *Plan) *Lab {
	l := &Lab{Name: p.Name, Dir: filepath.Join(BaseFolder(), p.Name), File: p.File}
	pins := usableCPUs()
	index := 0
	host := func(name, site string, address netip.Addr, is HostPlan) *Host {
		h := &Host{Name: name, Site: site, Address: address, Index: index, CPUs: is.CPUs, Pin: -1, Mbps: is.Mbps,
			Memory: is.Memory, lab: l}
		index++
		if h.CPUs > 0 && h.CPUs <= 1 && name != HeadName && len(pins) > 0 {
			h.Pin = pins[0]
			pins = append(pins[1:], pins[0])
		}
		return h
	}
	l.Head = host(HeadName, HeadName, netip.AddrFrom4([4]byte{10, 77, 0, 1}), p.Head)
	l.Site = &Site{Name: HeadName, WAN: p.WAN}
	for i := range p.Clusters {
		is := &p.Clusters[i]
		c := &Cluster{Name: is.Name, Manager: is.Manager, Cores: is.Cores, Share: is.Share,
			Site: &Site{Name: is.Name, Index: i + 1, WAN: is.WAN}}
		for _, name := range is.hostNames() {
			if is.Manager != None && c.Head == nil {
				c.Head = host(name, is.Name, netip.AddrFrom4([4]byte{10, 77, byte(i + 1), 254}), is.Head)
				continue
			}
			c.Hosts = append(c.Hosts, host(name, is.Name, netip.AddrFrom4([4]byte{10, 77, byte(i + 1), byte(len(c.Hosts) + 1)}),
				is.Host))
		}
		l.Clusters = append(l.Clusters, c)
	}
	return l
}

// usableCPUs are the processors that this process may use.
func usableCPUs() []int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	var list []int
	for i := 0; len(list) < set.Count(); i++ {
		if set.IsSet(i) {
			list = append(list, i)
		}
	}
	return list
}

// startSwitch starts the switch and connects the sites.
func (l *Lab) startSwitch() error {
	if err := l.groups.addHost("switch", limits{pin: -1}); err != nil {
		return err
	}
	var err error
	if l.Switch, err = l.spawnProcess(roleInit, "switch", unix.CLONE_NEWNET, &initSpec{}); err != nil {
		return err
	}
	w, err := l.openWires()
	if err != nil {
		return err
	}
	defer w.closeWires()
	if err := w.makeBridges(); err != nil {
		return err
	}
	for _, site := range l.allSites() {
		if err := w.joinSite(site); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lab) allSites() []*Site {
	list := []*Site{l.Site}
	for _, c := range l.Clusters {
		list = append(list, c.Site)
	}
	return list
}

func (l *Lab) findSite(name string) (*Site, error) {
	for _, s := range l.allSites() {
		if s.Name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("the lab %s has no site %q", l.Name, name)
}

// bootHost starts a host.
func (l *Lab) bootHost(h *Host) error {
	if err := l.groups.addHost(h.Name, limits{h.CPUs, h.Pin, h.Memory}); err != nil {
		return err
	}
	spec := &initSpec{Host: h.Name, Etc: l.etcFolder(), Private: h.Name != HeadName}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	for _, path := range []string{l.Dir, exe} {
		inside := func(path string) bool {
			return slices.ContainsFunc(ownFolders,
				func(f struct{ path, options string }) bool { return strings.HasPrefix(path, f.path+"/") })
		}
		if inside(path) {
			spec.Keep = append(spec.Keep, path)
		}
	}
	if h.Init, err = l.spawnProcess(roleInit, h.Name, hostNamespaces, spec); err != nil {
		return err
	}
	site, err := l.findSite(h.Site)
	if err != nil {
		return err
	}
	w, err := l.openWires()
	if err != nil {
		return err
	}
	defer w.closeWires()
	return w.plugHost(h, site)
}

// managerTimeout is how long the manager of a cluster may take to come up.
const managerTimeout = 3 * time.Minute

func (l *Lab) startManagers(ctx context.Context, say func(string)) error {
	for _, c := range l.Clusters {
		m, err := findManager(c.Manager)
		if err != nil {
			return err
		}
		if m == nil {
			continue
		}
		say(fmt.Sprintf("cluster %s: starting %s", c.Name, c.Manager))
		short, cancel := context.WithTimeoutCause(ctx, managerTimeout, fmt.Errorf("not up within %v", managerTimeout))
		err = m.StartManager(short, l, c)
		cancel()
		if err != nil {
			return fmt.Errorf("the cluster %s: %w", c.Name, err)
		}
	}
	return nil
}
