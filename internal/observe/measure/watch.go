package measure

import (
	"context"
	"math"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// watchEvery is how often a CPU is looked at while a program runs on it: a look
// takes a tenth of a millisecond.
const watchEvery = 20 * time.Millisecond

// runWatched runs a command on one CPU and looks before, meanwhile and after how slow
// that CPU is: on a virtual machine the same work needs up to half as much CPU time
// again while a neighbour uses the other half of the core. Slow is the harmonic
// mean, by which CPU time has to be divided to have what it is in the best moments;
// 1 if nobody can tell.
func (p Program) runWatched(ctx context.Context, argv []string) (n native, slow float64, err error) {
	cpu, known := lastCPU()
	if p.Slowness == nil || !known {
		n, err = runCommand(ctx, argv, argv, p.Dir, nil)
		return n, 1, err
	}
	sum, looks := 0.0, 0.0
	look := func() {
		if s, err := p.Slowness(cpu); err == nil { // else this moment is not known
			sum += 1 / s
			looks++
		}
	}
	look()
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				look()
			case <-over:
				return
			}
		}
	}()
	n, err = runCommand(ctx, argv, argv, p.Dir, startOnCPU(cpu))
	close(over)
	<-done
	look()
	if looks == 0 {
		return n, 1, err
	}
	return n, looks / sum, err
}

// How long it is looked how slow a CPU is before something is foretold for it.
const looksNow = 25

// CurrentSlowness is how slow the CPU is on which programs are measured: over half a second, so
// that single bad moments do not count.
func CurrentSlowness(ctx context.Context, slowness func(cpu int) (float64, error)) (float64, error) {
	cpu, known := lastCPU()
	if !known {
		return 1, nil
	}
	sum := 0.0
	for range looksNow {
		s, err := slowness(cpu)
		if err != nil {
			return 0, err
		}
		sum += 1 / s
		if !clock.SleepContext(ctx, watchEvery) {
			return 0, context.Cause(ctx)
		}
	}
	return looksNow / sum, nil
}

// lastCPU is the last of the CPUs that we may use: the first serves interrupts.
func lastCPU() (int, bool) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return 0, false
	}
	for cpu := 8*len(set)*8 - 1; cpu >= 0; cpu-- {
		if set.IsSet(cpu) {
			return cpu, true
		}
	}
	return 0, false
}

// startOnCPU starts a command on one CPU: a child may use those that the thread that
// started it may.
func startOnCPU(cpu int) func(*exec.Cmd) error {
	return func(cmd *exec.Cmd) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var all, one unix.CPUSet
		if err := unix.SchedGetaffinity(0, &all); err != nil {
			return err
		}
		one.Set(cpu)
		if err := unix.SchedSetaffinity(0, &one); err != nil {
			return err
		}
		err := cmd.Start()
		if back := unix.SchedSetaffinity(0, &all); err == nil && back != nil {
			// The thread stays confined, and so must not serve others: it ends with its
			// goroutine, which never unlocks it.
			runtime.LockOSThread()
		}
		return err
	}
}

// What is expected of how much a program feels the slowness of a CPU before it ran:
// programs have been seen to feel a half of it and twice of it.
const (
	feels, feelsOff = 1, 0.5
	mostFeels       = 2.5
	leastNoise      = 0.02
)

// slownessExponent is the power of the slowness with which the CPU time of a program grows:
// 1 if it suffers as the work does by which slowness is told, less if it waits much
// by itself. Runs of the same size are compared with each other.
func slownessExponent(sizes []*timed) float64 {
	slope := func(x, y func(i int) float64, t *timed) (xy, xx, yy float64) {
		mx, my, n := 0.0, 0.0, float64(len(t.took))
		for i := range t.took {
			mx, my = mx+x(i)/n, my+y(i)/n
		}
		for i := range t.took {
			dx, dy := x(i)-mx, y(i)-my
			xy, xx, yy = xy+dx*dy, xx+dx*dx, yy+dy*dy
		}
		return xy, xx, yy
	}
	up, down := feels/(feelsOff*feelsOff), 1/(feelsOff*feelsOff)
	for _, t := range sizes {
		xy, xx, yy := slope(func(i int) float64 { return math.Log(t.slow[i]) },
			func(i int) float64 { return math.Log(t.took[i]) }, t)
		if xx <= 0 || len(t.took) < 3 {
			continue
		}
		noise := math.Max(0, yy-xy*xy/xx)/float64(len(t.took)-2) + leastNoise*leastNoise
		up, down = up+xy/noise, down+xx/noise
	}
	return min(mostFeels, max(0, up/down))
}
