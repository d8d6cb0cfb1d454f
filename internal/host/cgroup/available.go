package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Ability says what groups can be had here.
type Ability struct {
	CPU, CPUs, Memory, Pids bool   // limits that can be kept
	Usage                   bool   // UsedCPU time can be read from a group
	Kill                    bool   // a group can be ended as a whole
	Why                     string // what is missing, and why; "" if nothing
}

// IsUsable reports whether groups can be had at all.
func (a Ability) IsUsable() bool { return a.Usage || a.Kill || a.CPU || a.CPUs || a.Memory || a.Pids }

// ProbeAbility tries what this process may do: it makes an empty group in each
// hierarchy and removes it.
func ProbeAbility() Ability {
	h, err := thisHost()
	if err != nil {
		return Ability{Why: err.Error()}
	}
	return h.probeAbility()
}

func (h *host) probeAbility() Ability {
	var a Ability
	refused := map[string]error{} // by base
	for _, p := range h.places {
		refused[p.base] = tryGroup(p)
	}
	var why []string
	can := func(what string, p ownHierarchy, ok bool) bool {
		switch {
		case !ok:
			why = append(why, what+": the controller is not there, or not handed down to us")
		case refused[p.base] != nil:
			why = append(why, fmt.Sprintf("%s: %v", what, refused[p.base]))
		default:
			return true
		}
		return false
	}
	for _, c := range []struct {
		controller, what string
		set              *bool
	}{
		{"cpu", "CPU time", &a.CPU},
		{"cpuset", "choice of cores", &a.CPUs},
		{"memory", "memory", &a.Memory},
		{"pids", "number of processes", &a.Pids},
	} {
		p, ok := h.placeWith(c.controller)
		*c.set = can(c.what, p, ok)
	}
	if p, ok := h.unifiedPlace(); ok {
		a.Usage = can("measuring", p, true)
		a.Kill = can("ending as a whole", p, true)
	} else {
		p, ok := h.placeWith("cpuacct")
		a.Usage = can("measuring", p, ok)
		p, ok = h.placeWith("freezer")
		a.Kill = can("ending as a whole", p, ok)
	}
	a.Why = strings.Join(why, "; ")
	return a
}

// tryGroup makes a group in a hierarchy and removes it.
func tryGroup(p ownHierarchy) error {
	name, err := os.MkdirTemp(p.base, prefix+"try-")
	if err != nil {
		return err
	}
	if err := os.Remove(name); err != nil {
		return fmt.Errorf("%s was made but cannot be removed: %w", filepath.Base(name), err)
	}
	return nil
}
