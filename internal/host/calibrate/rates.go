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

	enoughBytes = 64 << 20 // more than the caches hold
)

// MeasureRates measures what a host can do, for models of programs: operations, the
// caches and the memory, the first touch of a page. It takes two to three seconds
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

// levelPasses is how often all blocks are measured, one pass after the other: what disturbs
// some blocks of one pass does not disturb the same ones of the others.
const levelPasses = 3

// What is measured of the lines of a block: at random places; in order, in one, two and
// four streams at once; in order and written to; in order while something is computed,
// read and written to.
const (
	chaseTime = iota
	sweepTime
	twoStreamsTime
	fourStreamsTime
	rewriteTime
	computeTime
	recomputeTime
	lineTimes // how many these are
)

// blockTimes is what a line of one block took in each pass, in seconds.
type blockTimes [lineTimes][]float64

// measureLevels are what lines cost that come back after as many bytes as each block
// has, and how much the measurements of the same differ, within a pass and from pass to
// pass: the root mean square of the relative deviations.
func measureLevels(ctx context.Context, block []byte, speed float64, s *scratch) ([]perfmodel.Level, float64, error) {
	var blocks []blockTimes
	for size := minBlock; size <= len(block); size *= 2 {
		blocks = append(blocks, blockTimes{})
	}
	squares := 0.0
	for range levelPasses {
		for i := range blocks {
			within, err := blocks[i].measureBlock(ctx, block[:minBlock<<i], speed, s)
			if err != nil {
				return nil, 0, err
			}
			squares += within / float64(levelPasses*len(blocks))
		}
	}
	for _, b := range blocks {
		for _, times := range b {
			squares += squaresApart(times, medianOf(times)) / float64(lineTimes*len(blocks))
		}
	}
	return levelsOf(blocks), math.Sqrt(squares), nil
}

// measureBlock adds a pass over one block. It returns the mean square of the relative
// deviations within the pass.
func (b *blockTimes) measureBlock(ctx context.Context, part []byte, speed float64, s *scratch) (float64, error) {
	squares := 0.0
	for i, k := range [lineTimes]struct {
		work  func(*scratch)
		feels float64
	}{
		chaseTime: {chaseWork(part), waitFeels}, sweepTime: {sweepWork(part, sweepLines), sweepFeels},
		twoStreamsTime: {streamWork(part, 2), sweepFeels}, fourStreamsTime: {streamWork(part, 4), sweepFeels},
		rewriteTime: {sweepWork(part, rewriteLines), sweepFeels},
		computeTime: {sweepWork(part, computeLines), waitFeels}, recomputeTime: {sweepWork(part, recomputeLines), waitFeels},
	} {
		// So that it is where it would be if it came back; the end of a large one pushes out
		// its beginning.
		s.sink += sweepLines(part[max(0, len(part)-enoughBytes):], 1)
		took, off, err := typicalTime(ctx, k.work, s)
		if err != nil {
			return 0, err
		}
		slow, err := mixedTime() // it takes longer to change than this takes
		if err != nil {
			return 0, err
		}
		took /= math.Pow(speed*float64(slow)/float64(pulseReference), k.feels)
		b[i], squares = append(b[i], took/reads), squares+off*off/lineTimes
	}
	return squares, nil
}

// levelsOf are the levels that blocks tell of, by the medians of the passes: each holds
// what comes back within half an octave of its block.
func levelsOf(blocks []blockTimes) []perfmodel.Level {
	typical := func(work int) (list []float64) {
		for _, b := range blocks {
			list = append(list, medianOf(b[work]))
		}
		return list
	}
	latency, inOrder, written := risingCosts(typical(chaseTime)), risingCosts(typical(sweepTime)),
		risingCosts(typical(rewriteTime))
	two, four := risingCosts(typical(twoStreamsTime)), risingCosts(typical(fourStreamsTime))
	computing, recomputing := typical(computeTime), typical(recomputeTime)
	list := make([]perfmodel.Level, len(blocks))
	for i := range list {
		l := perfmodel.Level{Bytes: math.Sqrt2 * math.Exp2(float64(i)) * minBlock, Latency: latency[i], InOrder: inOrder[i],
			TwoStreams: two[i], FourStreams: four[i], Written: max(inOrder[i], written[i])}
		if i > 0 {
			l.Beside = overlapShare(nearTime(computing, inOrder), computing[i], l.InOrder-list[0].InOrder)
			l.BesideWritten = overlapShare(nearTime(recomputing, written), recomputing[i], l.Written-list[0].Written)
		}
		list[i] = l
	}
	list[len(list)-1].Bytes = 0 // the memory
	return list
}

// nearTime is what computing takes where nothing has to be fetched: the median of the
// blocks whose lines cost hardly more than those of the nearest. By one block alone, in a
// good moment, nothing would seem to be hidden behind computing anywhere.
func nearTime(computing, costs []float64) float64 {
	var near []float64
	for i, cost := range costs {
		if cost <= 1.25*costs[0] {
			near = append(near, computing[i])
		}
	}
	return medianOf(near)
}

// risingCosts are the costs that come nearest to those measured and never fall from one
// block to the next: neighbours that do become their mean. So a lucky moment does not make
// far memory nearer, and a bad one does not make all that lies further slow.
func risingCosts(measured []float64) []float64 {
	type pool struct {
		sum float64
		n   int
	}
	var pools []pool
	for _, v := range measured {
		p := pool{v, 1}
		for k := len(pools) - 1; k >= 0 && pools[k].sum*float64(p.n) > p.sum*float64(pools[k].n); k-- {
			p.sum, p.n, pools = p.sum+pools[k].sum, p.n+pools[k].n, pools[:k]
		}
		pools = append(pools, p)
	}
	rising := make([]float64, 0, len(measured))
	for _, p := range pools {
		for range p.n {
			rising = append(rising, p.sum/float64(p.n))
		}
	}
	return rising
}

// medianOf is the middle of some values; of an even number the mean of the two there.
func medianOf(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	k := len(sorted)
	return (sorted[(k-1)/2] + sorted[k/2]) / 2
}

// squaresApart is the mean square of the relative deviations from a value.
func squaresApart(list []float64, from float64) float64 {
	sum := 0.0
	for _, v := range list {
		d := math.Log(v / from)
		sum += d * d / float64(len(list))
	}
	return sum
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

// streamParts cuts a block into parts, one for each stream: how far apart they begin and
// how long they are. As the arrays of programs do, the streams come to the end of a page at
// different times: each begins a part of a page later in its page than the one before.
func streamParts(size, streams, page int) (apart, length int) {
	apart = (size + min(page, size/4)) / streams / perfmodel.Line * perfmodel.Line
	return apart, (size - (streams-1)*apart) / perfmodel.Line * perfmodel.Line
}

// streamWork reads the lines of a block in order, in two or four streams at once, round
// after round.
func streamWork(block []byte, streams int) func(*scratch) {
	apart, length := streamParts(len(block), streams, os.Getpagesize())
	from := 0
	return func(s *scratch) {
		for left := reads / streams * perfmodel.Line; left > 0; {
			stretch := min(left, length-from)
			var parts [4][]byte
			for i := range streams {
				parts[i] = block[i*apart+from : i*apart+from+stretch]
			}
			if streams == 2 {
				s.sink += sweepTwo(parts[0], parts[1])
			} else {
				s.sink += sweepFour(parts[0], parts[1], parts[2], parts[3])
			}
			left, from = left-stretch, (from+stretch)%length
		}
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

// sweepTwo reads one byte of each line of two parts of equal length, in turn.
func sweepTwo(a, b []byte) uint64 {
	sum := uint64(0)
	for at := 0; at < len(a) && at < len(b); at += perfmodel.Line {
		sum += uint64(a[at]) + uint64(b[at])
	}
	return sum
}

// sweepFour is sweepTwo with four parts.
func sweepFour(a, b, c, d []byte) uint64 {
	sum := uint64(0)
	for at := 0; at < len(a) && at < len(b) && at < len(c) && at < len(d); at += perfmodel.Line {
		sum += uint64(a[at]) + uint64(b[at]) + uint64(c[at]) + uint64(d[at])
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
