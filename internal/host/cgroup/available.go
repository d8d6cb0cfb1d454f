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
	Usage                   bool   // CPU time can be read from a group
	Kill                    bool   // a group can be ended as a whole
	Why                     string // what is missing, and why; "" if nothing
}

// Any reports whether groups can be had at all.
func (a Ability) Any() bool { return a.Usage || a.Kill || a.CPU || a.CPUs || a.Memory || a.Pids }

// Available tries what this process may do: it makes an empty group in each
// hierarchy and removes it.
func Available() Ability {
	h, err := thisHost()
	if err != nil {
		return Ability{Why: err.Error()}
	}
	return h.available()
}

func (h *host) available() Ability {
	var a Ability
	refused := map[string]error{} // by base
	for _, p := range h.places {
		refused[p.base] = try(p)
	}
	var why []string
	can := func(what string, p place, ok bool) bool {
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
		p, ok := h.with(c.controller)
		*c.set = can(c.what, p, ok)
	}
	if p, ok := h.v2(); ok {
		a.Usage = can("measuring", p, true)
		a.Kill = can("ending as a whole", p, true)
	} else {
		p, ok := h.with("cpuacct")
		a.Usage = can("measuring", p, ok)
		p, ok = h.with("freezer")
		a.Kill = can("ending as a whole", p, ok)
	}
	a.Why = strings.Join(why, "; ")
	return a
}

// try makes a group in a hierarchy and removes it.
func try(p place) error {
	name, err := os.MkdirTemp(p.base, prefix+"try-")
	if err != nil {
		return err
	}
	if err := os.Remove(name); err != nil {
		return fmt.Errorf("%s was made but cannot be removed: %w", filepath.Base(name), err)
	}
	return nil
}
