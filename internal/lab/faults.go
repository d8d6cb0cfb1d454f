package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// loadGroup is where busy loops are.
const loadGroup = "load"

// SetLoad makes a host share its processors with k busy loops: one thread beside
// them on a host that is bound to one processor gets 1/(k+1) of the host's time.
func (h *Host) SetLoad(ctx context.Context, k int) error {
	const most = 100
	if k < 0 || k > most {
		return fmt.Errorf("from 0 to %d busy loops, not %d", most, k)
	}
	return h.lab.changeState(ctx, func() error {
		if err := h.mustRun(); err != nil {
			return err
		}
		if err := h.lab.groups.killAll(h.Name, loadGroup); err != nil {
			return err
		}
		for h.Load = 0; h.Load < k; h.Load++ {
			loop := []string{"/bin/sh", "-c", "while :; do :; done"}
			if err := h.startDetached(ctx, entrance{Group: loadGroup}, loadGroup, []string{"PATH=" + userPath},
				loop); err != nil {
				return err
			}
		}
		return nil
	})
}

func (h *Host) mustRun() error {
	if !h.IsUp() {
		return fmt.Errorf("the host %s is down", h.Name)
	}
	return nil
}

// SetSpeed changes how many processors' worth of time a host has.
func (h *Host) SetSpeed(ctx context.Context, cpus float64) error {
	if cpus < minCPUs || cpus > maxCPUs {
		return fmt.Errorf("from %g to %d cores' worth of CPU time, not %g", minCPUs, maxCPUs, cpus)
	}
	return h.lab.changeState(ctx, func() error {
		if h.Pin >= 0 && cpus > 1 {
			return fmt.Errorf("the host %s is bound to one core: it cannot have the CPU time of %g", h.Name, cpus)
		}
		h.CPUs = cpus
		return h.lab.groups.groupOf(h.Name).SetCPUShare(cpus)
	})
}

// SetRate changes the rate of a host's link.
func (h *Host) SetRate(ctx context.Context, mbps float64) error {
	if mbps < 0 || mbps > maxMbps {
		return fmt.Errorf("from 0 (not limited) to %d Mbit/s, not %g", maxMbps, mbps)
	}
	return h.lab.changeState(ctx, func() error {
		h.Mbps = mbps
		if !h.IsUp() {
			return nil
		}
		w, err := h.lab.openWires()
		if err != nil {
			return err
		}
		defer w.closeWires()
		in, err := handleOf(h.Init.PID)
		if err != nil {
			return err
		}
		defer in.Close()
		return w.shapeHost(in, h)
	})
}

// SetWAN changes what a site's way to the others can do; "" is all sites.
// Changing the delay loses what is on its way.
func (l *Lab) SetWAN(ctx context.Context, site string, link Link) error {
	if link.Mbps < 0 || link.Mbps > maxMbps || link.Delay < 0 || link.Delay > maxDelay {
		return fmt.Errorf("a link has up to %d Mbit/s and up to %v of delay", maxMbps, maxDelay)
	}
	return l.changeState(ctx, func() error {
		sites := l.allSites()
		if site != "" {
			s, err := l.findSite(site)
			if err != nil {
				return err
			}
			sites = []*Site{s}
		}
		w, err := l.openWires()
		if err != nil {
			return err
		}
		defer w.closeWires()
		for _, s := range sites {
			before := s.WAN
			s.WAN = link
			if before.Delay != link.Delay {
				err = w.joinSite(s)
			} else {
				err = errors.Join(limitRate(w.sw, fmt.Sprintf("up%d", s.Index), link.Mbps),
					limitRate(w.sw, fmt.Sprintf("core%d", s.Index), link.Mbps))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// CutOff cuts a host off, or a whole site from the others: what is sent vanishes.
func (l *Lab) CutOff(ctx context.Context, name string) error { return l.setConnected(ctx, name, false) }

// UndoCut undoes CutOff.
func (l *Lab) UndoCut(ctx context.Context, name string) error { return l.setConnected(ctx, name, true) }

func (l *Lab) setConnected(ctx context.Context, name string, on bool) error {
	return l.changeState(ctx, func() error {
		w, err := l.openWires()
		if err != nil {
			return err
		}
		defer w.closeWires()
		// The lab's head is alone at its site: to cut either is the same.
		if s, err := l.findSite(name); err == nil {
			s.Cut = !on
			return w.attachPort(fmt.Sprintf("up%d", s.Index), fmt.Sprintf("site%d", s.Index), on)
		}
		h, err := l.FindHost(name)
		if err != nil {
			return fmt.Errorf("the lab %s has neither a site nor a host %q", l.Name, name)
		}
		h.Cut = !on
		if !h.IsUp() {
			return nil
		}
		s, err := l.findSite(h.Site)
		if err != nil {
			return err
		}
		return w.attachPort(fmt.Sprintf("h%d", h.Index), fmt.Sprintf("site%d", s.Index), on)
	})
}

// FreezeHost makes a host hang: nothing on it goes on, nor answers, but its
// connections stay.
func (h *Host) FreezeHost(ctx context.Context) error { return h.setFrozen(ctx, true) }

// ThawHost undoes FreezeHost.
func (h *Host) ThawHost(ctx context.Context) error { return h.setFrozen(ctx, false) }

func (h *Host) setFrozen(ctx context.Context, frozen bool) error {
	return h.lab.changeState(ctx, func() error {
		if err := h.mustRun(); err != nil {
			return err
		}
		h.Frozen = frozen
		return h.lab.groups.groupOf(h.Name).SetFrozen(frozen)
	})
}

// CrashHost ends everything on a host at once.
func (h *Host) CrashHost(ctx context.Context) error {
	return h.lab.changeState(ctx, func() error {
		err := h.lab.groups.killAll(h.Name)
		for err == nil && h.IsUp() && clock.SleepContext(ctx, time.Millisecond) {
		} // a process is out of its group a little before its end
		h.Load, h.Frozen, h.Init = 0, false, Process{}
		return err
	})
}

// BootHost starts a host again that has crashed, with what its cluster's manager
// runs on it.
func (h *Host) BootHost(ctx context.Context) error {
	l := h.lab
	err := l.changeState(ctx, func() error {
		if h.IsUp() {
			return fmt.Errorf("the host %s runs already", h.Name)
		}
		if err := l.groups.killAll(h.Name); err != nil { // its init alone may have been ended
			return err
		}
		return l.bootHost(h)
	})
	if err != nil {
		return err
	}
	for _, c := range l.Clusters {
		if !slices.Contains(c.AllHosts(), h) {
			continue
		}
		if m, err := findManager(c.Manager); err != nil {
			return err
		} else if m != nil {
			return m.BootHost(ctx, l, c, h)
		}
	}
	return nil
}

// CPUTime is the processor time that has been used on the host.
func (h *Host) CPUTime() (time.Duration, error) { return h.lab.groups.groupOf(h.Name).UsedCPU() }

// CountProcesses is how many run on the host, its first one aside.
func (h *Host) CountProcesses() int {
	pids, err := h.lab.groups.groupOf(h.Name).ListPids()
	if err != nil {
		return 0
	}
	return max(len(pids)-1, 0)
}

// RunningPrograms is the names of what runs on the host, its first process aside, each
// once and with its number if there are several.
func (h *Host) RunningPrograms() []string {
	pids, _ := h.lab.groups.groupOf(h.Name).ListPids() // none, if nobody can tell
	count := map[string]int{}
	for _, pid := range pids {
		name, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
		if err == nil && pid != h.Init.PID {
			count[strings.TrimSpace(string(name))]++
		}
	}
	names := slices.Sorted(maps.Keys(count))
	for i, name := range names {
		if n := count[name]; n > 1 {
			names[i] = fmt.Sprintf("%s (%d)", name, n)
		}
	}
	return names
}
