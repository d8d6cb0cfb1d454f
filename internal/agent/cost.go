package agent

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/host/calibrate"
	"github.com/godwit-hpc/godwit/internal/host/proctable"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
)

// spentByChildren is what all processes have used that this one waited for.
func spentByChildren() checkpointing.ProcessUsage {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &u) != nil {
		return checkpointing.ProcessUsage{}
	}
	return checkpointing.ProcessUsage{User: time.Duration(u.Utime.Nano()), Kernel: time.Duration(u.Stime.Nano()),
		Switches: u.Nvcsw, Faults: u.Minflt + u.Majflt}
}

// pulseOf is how many times longer than on the reference host a fixed piece of work
// takes on a processor that the attempt runs on now.
func pulseOf(mark string) (float64, bool) {
	cpu, ok := proctree.TreeOf(mark).BusiestProcessor()
	if !ok {
		return 0, false
	}
	p, err := calibrate.MeasurePulse(cpu)
	return p, err == nil
}

// sentryTime is the processor time of a sandbox's own processes: the supervisor and
// those it started. The program runs in processes that those start.
func sentryTime(supervisor int) (time.Duration, bool) {
	p, err := proctable.ReadProcess(supervisor)
	if err != nil {
		return 0, false
	}
	children, err := proctable.ChildrenOf(supervisor)
	if err != nil {
		return 0, false
	}
	sum := p.CPUTime
	for _, pid := range children {
		if child, err := proctable.ReadProcess(pid); err == nil {
			sum += child.CPUTime
		}
	}
	return sum, true
}
