package calibrate

import (
	"math"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// pulseReference is what the work of a pulse takes on the reference host while
// nobody uses the other half of the core.
const pulseReference = 60 * time.Microsecond

// MeasurePulse is how many times longer a fixed piece of work takes on a CPU now than on
// the reference host: a CPU second is not always worth the same. Whoever runs on
// the other hardware thread of a core, in another virtual machine perhaps, takes up
// to a third of what the core can do, and no counter of this machine shows it.
//
// It costs a tenth of a millisecond of CPU time, on that CPU, and changes nothing
// of the thread that asks. cpu must be one that this process may use.
func MeasurePulse(cpu int) (float64, error) {
	type result struct {
		took time.Duration
		err  error
	}
	felt := make(chan result, 1)
	go func() {
		took, err := boundTime(cpu)
		felt <- result{took, err}
	}()
	r := <-felt
	return float64(r.took) / float64(pulseReference), r.err
}

// boundTime is how long that work takes on a CPU. A thread that cannot be released from
// there again ends with the goroutine: nobody else is to run on it.
func boundTime(cpu int) (time.Duration, error) {
	runtime.LockOSThread()
	var usual, one unix.CPUSet
	one.Set(cpu)
	err := unix.SchedGetaffinity(0, &usual)
	if err == nil {
		err = unix.SchedSetaffinity(0, &one)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return 0, err
	}
	took, err := mixedTime()
	if e := unix.SchedSetaffinity(0, &usual); e != nil {
		return 0, e
	}
	runtime.UnlockOSThread()
	return took, err
}

func mixedTime() (time.Duration, error) {
	var m mixed
	m.fillTable()
	m.mixedWork(mixedRounds / 8) // brings table and code into the caches
	before, err := threadTime()
	if err != nil {
		return 0, err
	}
	m.mixedWork(mixedRounds)
	after, err := threadTime()
	return max(after-before, 1), err
}

const mixedRounds = 20_000

// mixed is work that fills a core as programs do: several chains that do not wait
// for each other, look-ups in a table and branches that cannot be foreseen. Who
// shares the core slows that down; a single chain of dependent instructions would
// hardly notice.
type mixed struct {
	table      [2048]uint32
	a, b, c, d uint32
}

func (m *mixed) fillTable() {
	x := uint32(7)
	for i := range m.table {
		x = x*1664525 + 1013904223
		m.table[i] = x
	}
	m.a, m.b, m.c, m.d = 1, 2, 3, 4
}

//go:noinline
func (m *mixed) mixedWork(rounds int) {
	a, b, c, d := m.a, m.b, m.c, m.d
	for i := range rounds {
		a = a*1664525 + m.table[b%uint32(len(m.table))]
		b ^= b << 13
		b ^= b >> 17
		b ^= b << 5
		c += m.table[(a>>8)%uint32(len(m.table))]
		if c&64 != 0 {
			d += c
		} else {
			d ^= a
		}
		d += (m.table[uint32(i)%uint32(len(m.table))]*5 + d) >> 3
	}
	m.a, m.b, m.c, m.d = a, b, c, d
}

// Slower is the mean of pulses, weighted by how much was done while each of them
// held.
type Slower struct {
	logs, weight float64
}

// AddPulse counts a pulse that held while so much was done.
func (s *Slower) AddPulse(pulse, weight float64) {
	if pulse > 0 && weight > 0 && !math.IsInf(pulse, 0) && !math.IsInf(weight, 0) {
		s.logs += math.Log(pulse) * weight
		s.weight += weight
	}
}

// MeanPulse is the mean; 0 if nothing was counted.
func (s *Slower) MeanPulse() float64 {
	if s.weight == 0 {
		return 0
	}
	return math.Exp(s.logs / s.weight)
}
