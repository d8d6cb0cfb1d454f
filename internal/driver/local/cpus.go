package local

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/host/cgroup"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// UsableCPUs are the CPUs that this process may run on.
func UsableCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("which CPUs may be used: %w", err)
	}
	var cpus []int
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// UsableProcessors is how many processors n CPUs are where this process is: fewer under
// a quota that leaves no time for all of them.
func UsableProcessors(n int) int { return cgroup.UsableProcessors(n, cgroup.QuotaBounds()) }

// cpusFor are the CPUs that stand for some of the cluster's processors: with as
// many processors as CPUs each its own; with more, all of them for everybody,
// because the kernel then divides time better than a fixed table would.
func cpusFor(held core.ProcSet, slots int, cpus []int) ([]int, error) {
	if !held.IsValid(slots) {
		return nil, fmt.Errorf("cores %v of a cluster that has %d", held, slots)
	}
	if len(held) == 0 || slots > len(cpus) {
		return slices.Clone(cpus), nil
	}
	var chosen []int
	for _, r := range held {
		chosen = append(chosen, cpus[r.Lo:r.Hi]...)
	}
	return chosen, nil
}
