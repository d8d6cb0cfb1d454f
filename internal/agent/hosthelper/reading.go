package hosthelper

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/host/proctree"
)

// Reading is what a helper says of its host, a line of JSON.
type Reading struct {
	// Table is which table of processes it reads: two hosts may be one machine under two names.
	Table string         `json:"table"`
	Usage proctree.Usage `json:"usage"` // of the attempt's processes, since each of them began
	Ranks []int          `json:"ranks,omitempty"`
}

// Bounds of what a helper may say.
const (
	maxReadingBytes = 1 << 20
	maxRanksOfHost  = 100_000
	maxRank         = 1 << 30
	maxTableBytes   = 200
	maxBytes        = 1 << 60
	maxCPU          = 1 << 60 // nanoseconds: 36 years
)

var errBadReading = errors.New("not what a helper says")

// ParseReading reads what a helper said.
func ParseReading(line []byte) (*Reading, error) {
	r := new(Reading)
	if err := json.Unmarshal(line, r); err != nil {
		return nil, fmt.Errorf("%w: %w", errBadReading, err)
	}
	if r.Table == "" || len(r.Table) > maxTableBytes || len(r.Ranks) > maxRanksOfHost {
		return nil, errBadReading
	}
	for _, n := range r.Ranks {
		if n < 0 || n > maxRank {
			return nil, fmt.Errorf("%w: rank %d", errBadReading, n)
		}
	}
	u := &r.Usage
	for _, d := range []time.Duration{u.CPU, u.Ran, u.Delayed} {
		if d < 0 || d > maxCPU {
			return nil, fmt.Errorf("%w: %d ns of CPU time", errBadReading, d)
		}
	}
	for _, n := range []int64{u.Memory, u.Peak, u.Read, u.Written, u.DiskRead, u.DiskWritten} {
		if n < 0 || n > maxBytes {
			return nil, fmt.Errorf("%w: %d bytes", errBadReading, n)
		}
	}
	return r, nil
}

// ownTable is the name of the table of processes that this process sees: that of its process namespace on this boot of
// the machine.
func ownTable() (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	var namespace unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &namespace); err != nil {
		return "", err
	}
	return fmt.Sprintf("%.36s-%d", boot, namespace.Ino), nil
}
