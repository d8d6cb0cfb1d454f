package slurm

import (
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/format/hostlist"
)

// usageFormat: the name comes last, as it alone may hold the delimiter.
const usageFormat = "%T|%C|%P|%N|%j"

// parseUsage reads lines of squeue in usageFormat, of the jobs of all users; others are passed over. It counts the jobs
// that wait for one of the partitions, or for any if none is named, and the processors of the hosts that jobs hold.
func parseUsage(out string, partitions []string, hosts []driver.Host) (waiting int, held driver.Held) {
	held = driver.Held{}
	names := make(map[string]bool, len(hosts))
	for i := range hosts {
		names[hosts[i].Name] = true
	}
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimRight(line, "\r\n"), "|", 5)
		if len(f) != 5 {
			continue
		}
		switch {
		case f[0] == "PENDING":
			if len(partitions) == 0 || haveOverlap(splitList(f[2]), partitions) {
				waiting++
			}
		case holdsProcs(f[0]):
			if n := procsOn(names, parseCount(f[1]), hostlist.ExpandList(f[3])); n > 0 {
				held[batch.DriverPrefix(f[4])] += n
			}
		}
	}
	return waiting, held
}

// holdsProcs says that nobody else can have the processors of a job in this state: not of one that is suspended, nor of
// one that ends just now.
func holdsProcs(state string) bool {
	return !slices.Contains([]string{"PENDING", "SUSPENDED", "COMPLETING"}, state) && !isOver(state)
}

// procsOn is how many of a job's processors lie on some hosts. Slurm says how many it has in all: they are taken to be
// spread evenly over its hosts.
func procsOn(hosts map[string]bool, procs int, of []string) int {
	inside := 0
	for _, host := range of {
		if hosts[host] {
			inside++
		}
	}
	if inside == 0 {
		return 0
	}
	return (procs*inside + len(of) - 1) / len(of)
}
