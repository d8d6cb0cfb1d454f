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

// Up makes a lab and returns when its hosts run and its managers take jobs. What
// is left of an earlier one of that name is removed first. The lab stays when
// this process ends; if it cannot be made nothing stays.
func Up(ctx context.Context, p *Plan, o Options) (*Lab, error) {
	if err := errors.Join(p.check(), Able()); err != nil {
		return nil, err
	}
	if err := notOurs(Base(), p.Name); err != nil {
		return nil, err
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	for i := range p.Clusters {
		if _, err := manager(p.Clusters[i].Manager); err != nil && !o.NoManager {
			return nil, err
		}
	}
	l, err := makeHosts(ctx, p, o.Say)
	if err == nil && !o.NoManager {
		err = l.startManagers(ctx, o.Say)
	}
	if err != nil {
		// Also when we were interrupted: ctx is of no use any more.
		return nil, errors.Join(err, Down(context.WithoutCancel(ctx), p.Name))
	}
	return l, nil
}

func makeHosts(ctx context.Context, p *Plan, say func(string)) (*Lab, error) {
	unlock, err := lockLab(ctx, Base(), p.Name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := removeAll(Base(), p.Name); err != nil {
		return nil, fmt.Errorf("removing what was left of the lab %s: %w", p.Name, err)
	}
	l := draft(p)
	if l.groups, err = findGroups(Base(), p.Name); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(l.Dir, 0o755); err != nil {
		return nil, err
	}
	if err := errors.Join(l.writeEtc(p.Users), l.groups.make(), l.save()); err != nil {
		return nil, err
	}
	say(fmt.Sprintf("lab %s: %d hosts", l.Name, p.Total()))
	if err := l.wire(); err != nil {
		return nil, err
	}
	for h := range l.hosts {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := l.boot(h); err != nil {
			return nil, err
		}
	}
	return l, l.save()
}

// draft is the lab of a plan before anything of it exists.
func draft(p *Plan) *Lab {
	l := &Lab{Name: p.Name, Dir: filepath.Join(Base(), p.Name), File: p.File}
	pins := usableCPUs()
	index := 0
	host := func(name, site string, address netip.Addr, is HostPlan) *Host {
		h := &Host{Name: name, Site: site, Address: address, Index: index, CPUs: is.CPUs, Pin: -1, Mbps: is.Mbps, Memory: is.Memory, lab: l}
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
		c := &Cluster{Name: is.Name, Manager: is.Manager, Cores: is.Cores, Site: &Site{Name: is.Name, Index: i + 1, WAN: is.WAN}}
		for _, name := range is.hostNames() {
			if is.Manager != None && c.Head == nil {
				c.Head = host(name, is.Name, netip.AddrFrom4([4]byte{10, 77, byte(i + 1), 254}), is.Head)
				continue
			}
			c.Hosts = append(c.Hosts, host(name, is.Name, netip.AddrFrom4([4]byte{10, 77, byte(i + 1), byte(len(c.Hosts) + 1)}), is.Host))
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

// wire starts the switch and connects the sites.
func (l *Lab) wire() error {
	if err := l.groups.add("switch", limits{pin: -1}); err != nil {
		return err
	}
	var err error
	if l.Switch, err = l.spawn(roleInit, "switch", unix.CLONE_NEWNET, &initSpec{}); err != nil {
		return err
	}
	w, err := l.wires()
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.begin(); err != nil {
		return err
	}
	for _, site := range l.sites() {
		if err := w.join(site); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lab) sites() []*Site {
	list := []*Site{l.Site}
	for _, c := range l.Clusters {
		list = append(list, c.Site)
	}
	return list
}

func (l *Lab) site(name string) (*Site, error) {
	for _, s := range l.sites() {
		if s.Name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("the lab %s has no site %q", l.Name, name)
}

// boot starts a host.
func (l *Lab) boot(h *Host) error {
	if err := l.groups.add(h.Name, limits{h.CPUs, h.Pin, h.Memory}); err != nil {
		return err
	}
	spec := &initSpec{Host: h.Name, Etc: l.etc(), Private: h.Name != HeadName}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	for _, path := range []string{l.Dir, exe} {
		inside := func(path string) bool {
			return slices.ContainsFunc(ownFolders, func(f struct{ path, options string }) bool { return strings.HasPrefix(path, f.path+"/") })
		}
		if inside(path) {
			spec.Keep = append(spec.Keep, path)
		}
	}
	if h.Init, err = l.spawn(roleInit, h.Name, hostNamespaces, spec); err != nil {
		return err
	}
	site, err := l.site(h.Site)
	if err != nil {
		return err
	}
	w, err := l.wires()
	if err != nil {
		return err
	}
	defer w.close()
	return w.plug(h, site)
}

// startWithin is how long the manager of a cluster may take to come up.
const startWithin = 3 * time.Minute

func (l *Lab) startManagers(ctx context.Context, say func(string)) error {
	for _, c := range l.Clusters {
		m, err := manager(c.Manager)
		if err != nil {
			return err
		}
		if m == nil {
			continue
		}
		say(fmt.Sprintf("cluster %s: starting %s", c.Name, c.Manager))
		short, cancel := context.WithTimeoutCause(ctx, startWithin, fmt.Errorf("not up within %v", startWithin))
		err = m.Start(short, l, c)
		cancel()
		if err != nil {
			return fmt.Errorf("the cluster %s: %w", c.Name, err)
		}
	}
	return nil
}
