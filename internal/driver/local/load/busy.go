package load

import (
	"bytes"
	"os"
	"strconv"
)

// ticks is CPU time as /proc counts it, in hundredths of a second.
type ticks = int64

const ticksPerSecond = 100

// cpuTimes is what the CPUs have done since the machine came up.
type cpuTimes struct {
	busy map[int]ticks // by CPU; what a hypervisor took away counts as busy
}

// readCPUTimes reads /proc/stat.
func readCPUTimes() (cpuTimes, error) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return cpuTimes{}, err
	}
	return parseCPUTimes(data), nil
}

// parseCPUTimes takes the lines cpu0, cpu1 … of the content of /proc/stat:
// user, nice, system, idle, iowait, irq, softirq, steal. Guests' time is in
// user's already.
func parseCPUTimes(data []byte) cpuTimes {
	t := cpuTimes{busy: map[int]ticks{}}
	for line := range bytes.Lines(data) {
		f := bytes.Fields(line)
		if len(f) < 9 || !bytes.HasPrefix(f[0], []byte("cpu")) {
			continue
		}
		cpu, err := strconv.Atoi(string(f[0][3:]))
		if err != nil || cpu < 0 {
			continue // the sum of all
		}
		const idle, iowait, steal = 4, 5, 8
		sum := ticks(0)
		for i := 1; i <= steal && err == nil; i++ {
			if i == idle || i == iowait {
				continue
			}
			var n int64
			n, err = strconv.ParseInt(string(f[i]), 10, 64)
			sum += n
		}
		if err == nil {
			t.busy[cpu] = sum
		}
	}
	return t
}

// busySince is the part of each CPU that was busy in between, 0 to 1.
func (t cpuTimes) busySince(before cpuTimes, seconds float64) map[int]float64 {
	part := make(map[int]float64, len(t.busy))
	for cpu, now := range t.busy {
		was, known := before.busy[cpu]
		if known && seconds > 0 {
			part[cpu] = min(1, max(0, float64(now-was)/(seconds*ticksPerSecond)))
		}
	}
	return part
}
