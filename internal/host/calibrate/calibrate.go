// Package calibrate measures how fast a CPU is, relative to the reference host
// to which all estimates of CPU time refer. It must not know clusters or jobs.
//
// # The reference host
//
// It is defined by three fixed pieces of work and the CPU time that each takes
// there: integers (a hash with branches that cannot be foreseen), floating point
// (a small matrix product), and memory (a chain of dependent reads through
// 1 MiB). A CPU on which they take 1.2, 1.25 and 0.7 ms, compiled by Go 1.26, has
// speed 1.0: that is one core of an Intel Xeon of the fourth generation
// (Sapphire Rapids) at 2.0 GHz, in a virtual machine. The speed of another is the
// geometric mean of the three ratios, so that no kind of work counts more than
// the others.
//
// What a piece takes is the least of several measurements in CPU time of the
// thread, not wall time: other load on the CPU only ever makes it longer.
package calibrate

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// kind is one piece of work and what it takes on the reference host.
type kind struct {
	name      string
	reference time.Duration
	work      func(*scratch)
}

func workKinds() []kind {
	return []kind{
		{"integer", 1200 * time.Microsecond, runIntegers},
		{"float", 1250 * time.Microsecond, runFloats},
		{"memory", 700 * time.Microsecond, runMemory},
	}
}

// Rounds of measuring: until two of the fastest agree, within bounds that keep
// the whole below 0.3 s even on a CPU of a quarter of the reference's speed.
const (
	minRounds      = 3
	maxRounds      = 16
	agreementLimit = 0.005
)

// MeasureSpeed is how fast a CPU is: 2 means that a program needs half the CPU time
// that it needs on the reference host. cpu < 0 is whichever we run on.
func MeasureSpeed(ctx context.Context, cpu int) (float64, error) {
	type answer struct {
		speed float64
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		// The thread is pinned and never given back: it ends with this goroutine.
		runtime.LockOSThread()
		speed, err := measureSpeed(ctx, cpu)
		done <- answer{speed, err}
	}()
	a := <-done
	if a.err != nil {
		return 0, fmt.Errorf("measure the speed of CPU %d: %w", cpu, a.err)
	}
	return a.speed, nil
}

func measureSpeed(ctx context.Context, cpu int) (float64, error) {
	if cpu >= 0 {
		var set unix.CPUSet
		set.Set(cpu)
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return 0, err
		}
	}
	s := newScratch()
	logs := 0.0
	for _, k := range workKinds() {
		took, err := leastTime(ctx, k, s)
		if err != nil {
			return 0, err
		}
		logs += math.Log(float64(k.reference) / float64(took))
	}
	return math.Exp(logs / float64(len(workKinds()))), nil
}

// leastTime is the least CPU time that a piece of work takes.
func leastTime(ctx context.Context, k kind, s *scratch) (time.Duration, error) {
	best, second := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for round := range maxRounds {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		before, err := threadTime()
		if err != nil {
			return 0, err
		}
		k.work(s)
		after, err := threadTime()
		if err != nil {
			return 0, err
		}
		took := max(after-before, 1)
		if took < best {
			best, second = took, best
		} else {
			second = min(second, took)
		}
		if round+1 >= minRounds && float64(second-best) < agreementLimit*float64(best) {
			break
		}
	}
	return best, nil
}

// threadTime is the CPU time of this thread.
func threadTime() (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		return 0, err
	}
	return time.Duration(ts.Nano()), nil
}

// scratch is what the pieces of work use, so that none of them has to allocate.
type scratch struct {
	chain   []uint32 // each entry leads to another, through all of them
	a, b, c [64 * 64]float64
	sink    uint64 // what came out, so that the work cannot be left out
}

func newScratch() *scratch {
	s := &scratch{chain: make([]uint32, 1<<20/4)}
	// One cycle through all cache lines in an order that no prefetcher guesses.
	const line = 64 / 4
	lines := uint32(len(s.chain) / line)
	// A full-period generator modulo a power of two: multiplier 1 mod 4, odd
	// increment.
	at := uint32(0)
	for range lines {
		next := (at*1664525 + 1013904223) % lines
		s.chain[at*line] = next * line
		at = next
	}
	for i := range s.a {
		s.a[i], s.b[i] = float64(i%7)+0.5, float64(i%5)-1.5
	}
	return s
}

func runIntegers(s *scratch) {
	x, h := uint64(0x9e3779b97f4a7c15), s.sink|1
	for range 200_000 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		if x&64 != 0 {
			h = h*1099511628211 ^ x
		} else {
			h += x>>3 ^ h<<5
		}
	}
	s.sink = h
}

func runFloats(s *scratch) {
	const n = 64
	for range 8 {
		for i := range n {
			row := s.a[i*n : i*n+n]
			for j := range n {
				sum := 0.0
				for k, v := range row {
					sum += v * s.b[k*n+j]
				}
				s.c[i*n+j] = sum
			}
		}
	}
	s.sink += uint64(int64(s.c[5]))
}

func runMemory(s *scratch) {
	at := uint32(0)
	for range 100_000 {
		at = s.chain[at]
	}
	s.sink += uint64(at)
}
