package cgroup

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bound is a quota of UsedCPU time that this process lives under: its cgroup's, or
// that of one above it. Containers have one, and parts of machines.
type Bound struct {
	Path string        // of the cgroup, as /proc/PID/cgroup names it
	CPUs float64       // processors' worth of time, for all that is inside
	Used time.Duration // by all that was inside so far; -1 if that is not known
}

// QuotaBounds are the quotas that are in force for this process, innermost first.
// What of the cgroups above is not shown here, as in a container, is not known.
func QuotaBounds() []Bound {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	h, err := thisHost()
	if err != nil {
		return nil
	}
	return h.quotaBounds(parseOwn(own))
}

func (h *host) quotaBounds(own map[string]string) []Bound {
	var list []Bound
	for _, p := range h.places {
		path, ok := p.pathIn(own, "cpu")
		for dir := p.base; ok; dir, path = filepath.Dir(dir), filepath.Dir(path) {
			cpus, there := quotaOf(folder{path: dir, v2: p.v2})
			if !there {
				break // above what is mounted, or the top, which has none
			}
			if cpus > 0 && !isDelegated(path) { // which says no more than the settings of whoever made it
				list = append(list, Bound{Path: path, CPUs: cpus, Used: h.usedIn(path, own)})
			}
			if path == "/" {
				break
			}
		}
	}
	return list
}

// pathIn is the path of this process where a controller is, or in version 2.
func (p ownHierarchy) pathIn(own map[string]string, controller string) (string, bool) {
	if p.v2 {
		controller = ""
	} else if !slices.Contains(p.has, controller) {
		return "", false
	}
	path, ok := own[controller]
	return path, ok
}

// quotaOf is the quota of a cgroup; 0 if there is none. there is false if it
// cannot have one.
func quotaOf(f folder) (cpus float64, there bool) {
	if f.v2 {
		text, err := f.readControl("cpu.max")
		if err != nil {
			return 0, false
		}
		quota, every, _ := strings.Cut(text, " ")
		return quotaRatio(quota, every), true
	}
	quota, err := f.readControl("cpu.cfs_quota_us")
	if err != nil {
		return 0, false
	}
	every, err := f.readControl("cpu.cfs_period_us")
	return quotaRatio(quota, every), err == nil
}

// quotaRatio is a quota of a period; 0 where there is no limit, which is written max
// or -1.
func quotaRatio(quota, every string) float64 {
	q, err1 := strconv.ParseInt(quota, 10, 64)
	e, err2 := strconv.ParseInt(every, 10, 64)
	if err1 != nil || err2 != nil || q <= 0 || e <= 0 {
		return 0
	}
	return float64(q) / float64(e)
}

// usedIn is the CPU time that a cgroup has used in which this process is, wherever that is
// counted; -1 if it is nowhere.
func (h *host) usedIn(path string, own map[string]string) time.Duration {
	for _, p := range h.places {
		here, ok := p.pathIn(own, "cpuacct")
		dir := p.base
		for ; ok && here != path && here != "/"; here = filepath.Dir(here) {
			dir = filepath.Dir(dir)
		}
		if !ok || here != path {
			continue
		}
		g := Group{folders: []folder{{path: dir, v2: p.v2, has: p.has}}}
		if used, err := g.UsedCPU(); err == nil {
			return used
		}
	}
	return -1
}

// UsableProcessors is how many of n processors are worth offering under the quotas: as
// many as the tightest gives time for, begun ones too.
func UsableProcessors(n int, bounds []Bound) int {
	for _, b := range bounds {
		n = min(n, max(1, int(math.Ceil(b.CPUs-0.01)))) // quotas are in thousandths at best
	}
	return n
}
