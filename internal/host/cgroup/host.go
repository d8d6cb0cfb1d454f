package cgroup

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// host is what a process can know of the cgroups it lives among.
type host struct {
	places []ownHierarchy
}

// ownHierarchy is where a new group can be made in one hierarchy: the folder of the
// cgroup this process is in.
type ownHierarchy struct {
	base string
	v2   bool
	has  []string // controllers that a group made here has
}

// lastSeen is where this process stood when it was last looked at.
var lastSeen struct {
	sync.Mutex
	own  []byte // what the kernel said of it
	host *host
}

// thisHost is where this process stands. What is mounted is read again only when
// it stands somewhere else: attempts come by the hundred each second.
func thisHost() (*host, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("looking for cgroups: %w", err)
	}
	lastSeen.Lock()
	defer lastSeen.Unlock()
	if lastSeen.host == nil || !bytes.Equal(own, lastSeen.own) {
		h, err := readHost(own)
		if err != nil {
			return nil, err
		}
		lastSeen.own, lastSeen.host = own, h
	}
	return lastSeen.host, nil
}

// forgetHost has everything read again.
func forgetHost() {
	lastSeen.Lock()
	lastSeen.host = nil
	lastSeen.Unlock()
}

func readHost(own []byte) (*host, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("looking for cgroups: %w", err)
	}
	h := &host{places: ownPlaces(parseMounts(mounts), parseOwn(own))}
	for i, p := range h.places {
		if p.v2 {
			// A group has what the cgroup above it hands down. To have it hand
			// down more would be to touch what we did not create.
			down, err := os.ReadFile(filepath.Join(p.base, "cgroup.subtree_control"))
			if err == nil {
				h.places[i].has = strings.Fields(string(down))
			}
		}
	}
	return h, nil
}

// mount is one hierarchy that is mounted.
type mount struct {
	root, point string
	v2          bool
	controllers []string // of version 1; "name=systemd" is one too
}

// parseMounts finds the cgroup file systems in /proc/self/mountinfo. Lines
// that it does not understand are not about cgroups.
func parseMounts(text []byte) []mount {
	var list []mount
	for line := range bytes.Lines(text) {
		left, right, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " - ")
		if !ok {
			continue
		}
		where, what := strings.Fields(left), strings.Fields(right)
		if len(where) < 5 || len(what) < 3 {
			continue
		}
		m := mount{root: unescapeMount(where[3]), point: unescapeMount(where[4])}
		switch what[0] {
		case "cgroup2":
			m.v2 = true
		case "cgroup":
			m.controllers = strings.Split(what[2], ",")
		default:
			continue
		}
		list = append(list, m)
	}
	return list
}

// unescapeMount undoes the \040 of mountinfo.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// parseOwn reads /proc/self/cgroup: the path in each hierarchy, by controller;
// version 2 is "".
func parseOwn(text []byte) map[string]string {
	own := map[string]string{}
	for line := range bytes.Lines(text) {
		parts := strings.SplitN(strings.TrimSuffix(string(line), "\n"), ":", 3)
		if len(parts) != 3 || !filepath.IsAbs(parts[2]) || filepath.Clean(parts[2]) != parts[2] {
			continue // "/.." is a cgroup outside our namespace
		}
		for c := range strings.SplitSeq(parts[1], ",") {
			own[c] = parts[2]
		}
	}
	return own
}

// ownPlaces finds the folder of our own cgroup in each hierarchy.
func ownPlaces(mounts []mount, own map[string]string) []ownHierarchy {
	var places []ownHierarchy
	seen := map[string]bool{}
	for _, m := range mounts {
		path, ok := own[""]
		var has []string
		if !m.v2 {
			// The options of the mount name its controllers, among others.
			has = slices.DeleteFunc(slices.Clone(m.controllers),
				func(c string) bool { _, known := own[c]; return !known || c == "" })
			if ok = len(has) > 0; ok {
				path = own[has[0]]
			}
		}
		if !ok {
			continue
		}
		rel, err := filepath.Rel(m.root, path)
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			continue // we are above what is mounted here
		}
		key := strings.Join(has, ",")
		if base := filepath.Join(m.point, rel); !seen[key] && filepath.IsAbs(base) && !strings.ContainsAny(base, ":=") {
			seen[key] = true
			places = append(places, ownHierarchy{base: base, v2: m.v2, has: has})
		}
	}
	return places
}

// placeWith is the place whose groups have a controller.
func (h *host) placeWith(controller string) (ownHierarchy, bool) {
	for _, p := range h.places {
		if slices.Contains(p.has, controller) {
			return p, true
		}
	}
	return ownHierarchy{}, false
}

// unifiedPlace is the place in version 2, where every group can be measured and ended.
func (h *host) unifiedPlace() (ownHierarchy, bool) {
	for _, p := range h.places {
		if p.v2 {
			return p, true
		}
	}
	return ownHierarchy{}, false
}

// neededPlaces lists the hierarchies that a group with these limits is made in:
// those that keep them, and those through which it is measured and ended.
func (h *host) neededPlaces(l Limits) ([]ownHierarchy, error) {
	var list []ownHierarchy
	add := func(p ownHierarchy) {
		if !slices.ContainsFunc(list, func(q ownHierarchy) bool { return q.base == p.base }) {
			list = append(list, p)
		}
	}
	if p, ok := h.unifiedPlace(); ok {
		add(p)
	} else {
		for _, c := range []string{"cpuacct", "freezer"} {
			if p, ok := h.placeWith(c); ok {
				add(p)
			}
		}
	}
	for _, c := range l.neededControllers() {
		p, ok := h.placeWith(c)
		if !ok {
			return nil, fmt.Errorf("this system gives us no cgroups with the controller %s", c)
		}
		add(p)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("this system has no cgroups that we could use")
	}
	return list, nil
}
