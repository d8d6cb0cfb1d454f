package calibrate

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/sched/perfmodel"
)

// What the pieces of work are made of, for rates in absolute numbers: about 11
// operations in each turn of integers, two for each product in floats.
const (
	integerWork = 200_000 * 11
	floatWork   = 8 * 64 * 64 * 64 * 2
)

// The blocks with which memory is measured: each twice the one before, from one
// that every cache holds to one that no cache holds. What the kernel says of its
// caches is not asked: where others share them, as virtual machines do, only a
// part of the last one is there for us, and that part is what counts.
const (
	minBlock = 16 << 10
	maxBlock = 256 << 20
)

// MeasureRates measures what a host can do, for models of programs: operations, the
// caches and the memory, the first touch of a page. It takes about half a second
// of CPU time.
func MeasureRates(ctx context.Context) (perfmodel.Host, error) {
	type answer struct {
		host perfmodel.Host
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		runtime.LockOSThread() // CPU time is that of the thread
		defer runtime.UnlockOSThread()
		h, err := measureRates(ctx)
		done <- answer{h, err}
	}()
	a := <-done
	if a.err != nil {
		return perfmodel.Host{}, fmt.Errorf("measure the rates of this host: %w", a.err)
	}
	return a.host, nil
}

func measureRates(ctx context.Context) (perfmodel.Host, error) {
	s := newScratch()
	h := perfmodel.Host{Page: float64(os.Getpagesize())}
	h.Name, _ = os.Hostname() // only a name
	speed, err := measureSpeed(ctx, -1)
	if err != nil {
		return h, err
	}
	h.Speed = speed
	whole, err := leastTime(ctx, kind{work: runIntegers}, s)
	if err != nil {
		return h, err
	}
	float, err := leastTime(ctx, kind{work: runFloats}, s)
	if err != nil {
		return h, err
	}
	h.Flops = floatWork / float.Seconds()
	h.Operations = math.Sqrt(integerWork / whole.Seconds() * h.Flops)
	block, touched, err := touchPages(maxBlock)
	if err != nil {
		return h, err
	}
	defer func() { _ = unix.Munmap(block) }()
	h.Fault = touched.Seconds() / (maxBlock / h.Page)
	var spread float64
	h.Levels, spread, err = measureLevels(ctx, block, speed, s)
	h.Spread = spread
	return h, err
}

// measureLevels are what lines cost that come back after as many bytes as each block
// has, and how much the measurements of the same differ: the root mean square of
// the relative deviations.
func measureLevels(ctx context.Context, block []byte, speed float64, s *scratch) ([]perfmodel.Level, float64, error) {
	var list []perfmodel.Level
	var computing, writing float64 // what a line of the nearest block takes if much is computed with it
	squares, n := 0.0, 0
	for size := minBlock; size <= len(block); size *= 2 {
		part := block[:size]
		var line [5]float64
		for i, k := range []struct {
			work  func(*scratch)
			feels float64
		}{
			{chaseWork(part), waitFeels}, {sweepWork(part, sweepLines), sweepFeels}, {sweepWork(part, rewriteLines), sweepFeels},
			{sweepWork(part, computeLines), waitFeels}, {sweepWork(part, recomputeLines), waitFeels},
		} {
			s.sink += sweepLines(part, 1) // so that it is where it would be if it came back
			took, off, err := typicalTime(ctx, k.work, s)
			if err != nil {
				return nil, 0, err
			}
			slow, err := mixedTime() // it takes longer to change than this takes
			if err != nil {
				return nil, 0, err
			}
			took /= math.Pow(speed*float64(slow)/float64(pulseReference), k.feels)
			line[i], squares, n = took/reads, squares+off*off, n+1
		}
		// The level holds what comes back within half an octave of the block.
		l := perfmodel.Level{Bytes: math.Sqrt2 * float64(size), Latency: line[0], InOrder: line[1],
			Written: max(line[1], line[2])}
		if k := len(list); k > 0 { // a lucky moment does not make far memory nearer
			was := list[k-1]
			l.Latency, l.InOrder, l.Written = max(l.Latency, was.Latency), max(l.InOrder, was.InOrder),
				max(l.Written, was.Written)
			near := list[0]
			l.Beside = overlapShare(computing, line[3], l.InOrder-near.InOrder)
			l.BesideWritten = overlapShare(writing, line[4], l.Written-near.Written)
		} else {
			computing, writing = line[3], line[4]
		}
		list = append(list, l)
	}
	list[len(list)-1].Bytes = 0 // the memory
	return list, math.Sqrt(squares / float64(n)), nil
}

// overlapShare is the share of the shorter of computing and fetching that counts when
// both are done together.
func overlapShare(computing, together, fetching float64) float64 {
	if fetching <= 0 {
		return 0
	}
	return min(1, max(0, (together-max(computing, fetching))/min(computing, fetching)))
}

// How memory is measured: lines read in a round, and rounds. What is measured is
// that of the best moments of the host; who shares the core slows down as many lines
// as can be fetched by about as much as other work, and less what waits for one thing
// after the other. These powers of the slowness were seen.
const (
	reads      = 1 << 15
	rounds     = 7
	sweepFeels = 1
	waitFeels  = 0.4
)

// chaseWork reads lines of a block at random. Each round goes on where the one
// before ended: what that read may be near now.
func chaseWork(block []byte) func(*scratch) {
	at, lines := uint32(0), uint32(len(block)/perfmodel.Line)
	return func(*scratch) { at = chaseLines(block, at, lines, reads) }
}

// sweepWork does something with the lines of a block in order, round after round.
func sweepWork(block []byte, with func(part []byte, turns int) uint64) func(*scratch) {
	from, stretch := 0, min(len(block), reads*perfmodel.Line)
	turns := reads * perfmodel.Line / stretch
	return func(s *scratch) {
		s.sink += with(block[from:from+stretch], turns)
		from = (from + stretch) % len(block)
	}
}

// typicalTime is what a piece of work takes: the mean of the rounds without the
// extremes, and how much single ones deviate from it. Not the least: programs
// that are to be foretold are disturbed as these rounds are.
func typicalTime(ctx context.Context, work func(*scratch), s *scratch) (mean, off float64, err error) {
	work(s) // until the block is where it belongs
	var took []float64
	for range rounds {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		before, err := threadTime()
		if err != nil {
			return 0, 0, err
		}
		work(s)
		after, err := threadTime()
		if err != nil {
			return 0, 0, err
		}
		took = append(took, max(after-before, 1).Seconds())
	}
	slices.Sort(took)
	for _, t := range took[1 : rounds-1] {
		mean += t / (rounds - 2)
	}
	for _, t := range took {
		off += (t/mean - 1) * (t/mean - 1) / (rounds - 1)
	}
	return mean, math.Sqrt(off), nil
}

// touchPages takes memory from the kernel and writes to each page once.
func touchPages(size int) ([]byte, time.Duration, error) {
	block, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, 0, err
	}
	before, err := threadTime()
	if err == nil {
		for at := 0; at < len(block); at += os.Getpagesize() {
			block[at] = 0
		}
		var after time.Duration
		if after, err = threadTime(); err == nil {
			return block, after - before, nil
		}
	}
	_ = unix.Munmap(block)
	return nil, 0, err
}

// chaseLines reads lines of a block of zeros in an order that no prefetcher guesses,
// each only when the one before has arrived: what it read is part of where it goes
// next.
func chaseLines(block []byte, at, lines uint32, reads int) uint32 {
	for range reads {
		at = (at*1664525 + 1013904223 + uint32(block[int(at)*perfmodel.Line])) & (lines - 1)
	}
	return at
}

// sweepLines reads one byte of each line, in order.
func sweepLines(block []byte, turns int) uint64 {
	sum := uint64(0)
	for range turns {
		for at := 0; at < len(block); at += perfmodel.Line {
			sum += uint64(block[at])
		}
	}
	return sum
}

// rewriteLines writes to all of each line, in order, as programs do: few stores can wait
// at once, and so few lines are under way. Zeros, which is what chase reads.
func rewriteLines(block []byte, turns int) uint64 {
	for range turns {
		for at := 0; at+perfmodel.Line <= len(block); at += perfmodel.Line {
			*(*[perfmodel.Line]byte)(block[at:]) = [perfmodel.Line]byte{}
		}
	}
	return 0
}

// computeLines does about as much with each line as programs that read all of it: each
// step waits for the one before.
func computeLines(block []byte, turns int) uint64 {
	sum := uint64(1)
	for range turns {
		for at := 0; at+perfmodel.Line <= len(block); at += perfmodel.Line {
			line := block[at : at+perfmodel.Line]
			for word := 0; word+8 <= len(line); word += 8 {
				sum = sum*5 + binary.NativeEndian.Uint64(line[word:])
			}
		}
	}
	return sum
}

// recomputeLines is compute that writes to each word.
func recomputeLines(block []byte, turns int) uint64 {
	sum := uint64(1)
	for range turns {
		for at := 0; at+perfmodel.Line <= len(block); at += perfmodel.Line {
			line := block[at : at+perfmodel.Line]
			for word := 0; word+8 <= len(line); word += 8 {
				sum = sum*5 + binary.NativeEndian.Uint64(line[word:])
				binary.NativeEndian.PutUint64(line[word:], 0)
			}
		}
	}
	return sum
}
