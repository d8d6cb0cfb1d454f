package batch

import (
	"maps"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/driver"
)

// Names of jobs are nameStart, the tag of the driver's folder in hex, a hyphen, and the name of the attempt.
const (
	nameStart = "gw-"
	tagLength = 8
)

// DriverPrefix is what the names of all jobs of one driver begin with, if this is the name of one of them; else "".
// Anybody may name jobs like that: who does is counted wrongly, and nothing more.
func DriverPrefix(name string) string {
	const length = len(nameStart) + tagLength
	if len(name) <= length || name[length] != '-' || !strings.HasPrefix(name, nameStart) ||
		strings.Trim(name[len(nameStart):length], "0123456789abcdef") != "" {
		return ""
	}
	return name[:length+1]
}

// maxToldDrivers bounds of how many other drivers it is told what they hold.
const maxToldDrivers = 1000

// usageOf says who holds the processors of a cluster, as the driver whose jobs are named like that sees it; nil if its
// manager does not say.
func usageOf(s *driver.Survey, prefix string) *driver.Usage {
	if s.Held == nil {
		return nil
	}
	u := &driver.Usage{Procs: s.TotalProcs(), Brokers: map[string]int{}}
	for _, whose := range slices.Sorted(maps.Keys(s.Held)) {
		if whose == prefix {
			continue
		}
		u.Others += s.Held[whose]
		if whose != "" && len(u.Brokers) < maxToldDrivers {
			u.Brokers[whose] = s.Held[whose]
		}
	}
	return u
}
