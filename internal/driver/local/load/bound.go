package load

import (
	"fmt"
	"slices"

	"github.com/godwit-hpc/godwit/internal/host/cgroup"
)

// Where a quota is in force, as in a container, how busy the machine is says
// little: what matters is how much of the quota others use. The kernel lets all
// that is inside run until the quota of a period is used up and then stops all
// of it, so that everybody gets the same part of what he wants.

// bound is a quota, and what was used of it lately.
type bound struct {
	path string
	cpus float64
	used float64 // CPUs' worth; -1 if not known
}

// boundsSince are the quotas in force now, and what was used since a look.
func (v *view) boundsSince(before *view, seconds float64) []bound {
	var list []bound
	for _, b := range v.bounds {
		now := bound{b.Path, b.CPUs, -1}
		if before != nil && seconds > 0 {
			i := slices.IndexFunc(before.bounds, func(o cgroup.Bound) bool { return o.Path == b.Path })
			if i >= 0 && b.Used >= 0 && before.bounds[i].Used >= 0 {
				now.used = max(0, (b.Used-before.bounds[i].Used).Seconds()/seconds)
			}
		}
		list = append(list, now)
	}
	return list
}

// isExhausted says that all, or nearly all, of the quota is used.
func (b bound) isExhausted() bool { return b.used >= 0.9*b.cpus }

func anyExhausted(list []bound) bool { return slices.ContainsFunc(list, bound.isExhausted) }

// appliesTo says whether the quota is in force for what is in these groups.
func (b bound) appliesTo(path []node) bool {
	return b.path == "/" || slices.ContainsFunc(path, func(n node) bool { return n.key == b.path })
}

// limitEstimate is what a newcomer gets where e is what he would get without the quota.
// tasks are those who are known to want time.
func (b bound) limitEstimate(e estimate, own float64, tasks []task) estimate {
	others := max(0, b.used-own)
	wanted := own + others
	if b.isExhausted() { // what is used is less than what is wanted
		sum := 0.0
		for i := range tasks {
			if b.appliesTo(tasks[i].path) {
				sum += tasks[i].want
			}
		}
		wanted = max(wanted, sum)
	}
	share := max(b.cpus-own-others, b.cpus/(1+wanted))
	if share >= e.share {
		return e
	}
	e.share = share
	e.why = fmt.Sprintf("limited to %.4g CPUs by its cgroup, of which others use %.2g", b.cpus, others)
	if b.used < 0 {
		e.blind = true
		e.why = fmt.Sprintf("limited to %.4g CPUs by its cgroup", b.cpus)
	}
	return e
}
