package calibrate

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/perfmodel"
)

// What the pieces of work are made of, for rates in absolute numbers: about 11
// operations in each turn of integers, two for each product in floats.
const (
	integerWork = 200_000 * 11
	floatWork   = 8 * 64 * 64 * 64 * 2
)

// mostMemory bounds the memory that is used to measure what memory costs.
const mostMemory = 256 << 20

// Rates measures what a host can do, for models of programs: operations, the
// caches and the memory, the first touch of a page. It takes about half a second
// of CPU time.
func Rates(ctx context.Context) (perfmodel.Host, error) {
	type answer struct {
		host perfmodel.Host
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		runtime.LockOSThread() // CPU time is that of the thread
		defer runtime.UnlockOSThread()
		h, err := rates(ctx)
		done <- answer{h, err}
	}()
	a := <-done
	if a.err != nil {
		return perfmodel.Host{}, fmt.Errorf("measure the rates of this host: %w", a.err)
	}
	return a.host, nil
}

func rates(ctx context.Context) (perfmodel.Host, error) {
	s := newScratch()
	h := perfmodel.Host{Page: float64(os.Getpagesize())}
	h.Name, _ = os.Hostname() // only a name
	speed, err := measure(ctx, -1)
	if err != nil {
		return h, err
	}
	h.Speed = speed
	whole, err := least(ctx, kind{work: integers}, s)
	if err != nil {
		return h, err
	}
	float, err := least(ctx, kind{work: floats}, s)
	if err != nil {
		return h, err
	}
	h.Flops = floatWork / float.Seconds()
	h.Operations = math.Sqrt(integerWork / whole.Seconds() * h.Flops)
	caches := cacheSizes(os.DirFS("/sys/devices/system/cpu/cpu0/cache"))
	most := min(mostMemory, max(64<<20, int(2*caches[len(caches)-1])))
	block, touched, err := touch(most)
	if err != nil {
		return h, err
	}
	defer func() { _ = unix.Munmap(block) }()
	h.Fault = touched.Seconds() / (float64(most) / h.Page)
	for i := range len(caches) + 1 {
		l, err := level(ctx, block, caches, i, s)
		if err != nil {
			return h, err
		}
		h.Levels = append(h.Levels, l)
	}
	return h, nil
}

// level measures a cache, or behind the last one the memory: with a block that
// the cache before it cannot hold and that it can itself.
func level(ctx context.Context, block []byte, caches []float64, i int, s *scratch) (perfmodel.Level, error) {
	l, size := perfmodel.Level{}, float64(len(block))
	if i < len(caches) {
		l.Bytes = caches[i]
		size = l.Bytes / 2
		if i > 0 {
			size = min(size, 4*caches[i-1])
		}
	}
	lines := 1 << int(math.Log2(min(size, float64(len(block)))/perfmodel.Line))
	part := block[:lines*perfmodel.Line]
	// Each round goes on where the one before ended: what that read may be near now.
	at, reads := uint32(0), 1<<15
	random, err := least(ctx, kind{work: func(*scratch) { at = chase(part, at, uint32(lines), reads) }}, s)
	if err != nil {
		return l, err
	}
	from, stretch := 0, min(lines, 1<<16)*perfmodel.Line
	turns := max(1, reads*perfmodel.Line/stretch)
	ordered, err := least(ctx, kind{work: func(s *scratch) {
		s.sink += sweep(part[from:from+stretch], turns)
		from = (from + stretch) % len(part)
	}}, s)
	if err != nil {
		return l, err
	}
	l.Latency = random.Seconds() / float64(reads)
	l.InOrder = ordered.Seconds() * perfmodel.Line / float64(turns*stretch)
	return l, nil
}

// touch takes memory from the kernel and writes to each page once.
func touch(size int) ([]byte, time.Duration, error) {
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

// chase reads lines of a block of zeros in an order that no prefetcher guesses,
// each only when the one before has arrived: what it read is part of where it goes
// next.
func chase(block []byte, at, lines uint32, reads int) uint32 {
	for range reads {
		at = (at*1664525 + 1013904223 + uint32(block[int(at)*perfmodel.Line])) & (lines - 1)
	}
	return at
}

// sweep reads one byte of each line, in order.
func sweep(block []byte, turns int) uint64 {
	sum := uint64(0)
	for range turns {
		for at := 0; at < len(block); at += perfmodel.Line {
			sum += uint64(block[at])
		}
	}
	return sum
}
