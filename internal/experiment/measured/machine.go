package measured

import (
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver/local"
)

// Machine is where the experiment was done.
type Machine struct {
	Model                 string // of its processors
	CPUs                  int
	Kernel                string
	Root                  bool
	At                    time.Time
	LoadBefore, LoadAfter string // load averages of 1, 5 and 15 minutes
}

// ThisMachine is the one we run on.
func ThisMachine(now clock.Clock) Machine {
	m := Machine{Model: "unknown processor", Kernel: runtime.GOOS, Root: os.Geteuid() == 0, At: now().UTC(),
		LoadBefore: LoadAverage()}
	if cpus, err := local.UsableCPUs(); err == nil {
		m.CPUs = len(cpus)
	}
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(data), "model name"); ok {
			line, _, _ := strings.Cut(rest, "\n")
			m.Model = strings.TrimSpace(strings.TrimLeft(line, "\t :"))
		}
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
	}
	return m
}

// LoadAverage is that of the last 1, 5 and 15 minutes.
func LoadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	f := strings.Fields(string(data))
	if err != nil || len(f) < 3 {
		return "unknown"
	}
	return strings.Join(f[:3], " ")
}
