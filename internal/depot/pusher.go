package depot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// pusher is one push under way.
type pusher struct {
	to     blockSink
	trees  treeSink // the same, if it knows trees
	base   []byte   // a tree that it has, of which everything is there
	baseID sum

	mu    sync.Mutex
	seen  map[sum]bool // sent, or known to be there
	spots map[sum]spot // where each chunk is; nil: nobody wants to know
	stats Stats

	told        func(done, total int64)
	done, total int64 // bytes of files
}

// begins starts to count: of all files, so many bytes are there already.
func (p *pusher) begins(there, total int64) {
	p.mu.Lock()
	p.done, p.total = 0, total
	p.mu.Unlock()
	p.came(there)
}

// came counts bytes that are in the depot.
func (p *pusher) came(n int64) {
	if p.told == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	p.told(p.done, p.total)
}

// maxWorkers bounds the workers of a push or a fetch, and so its memory.
const maxWorkers = 8

func workers() int { return min(runtime.GOMAXPROCS(0), maxWorkers) }

// all brings in all files that are not in the depot.
func (p *pusher) all(ctx context.Context, files []*source) error {
	var known, unknown []*source
	for _, f := range files {
		switch {
		case !f.Mode.IsRegular():
		case f.known:
			known = append(known, f)
		default:
			unknown = append(unknown, f)
		}
	}
	gone, err := p.confirm(ctx, known)
	if err != nil {
		return err
	}
	for _, f := range gone {
		f.known = false
	}
	there, total := int64(0), int64(0)
	for _, f := range files {
		if f.Mode.IsRegular() {
			total += f.Size
			if f.known {
				there += f.Size
			}
		}
	}
	p.begins(there, total)
	return p.read(ctx, append(unknown, gone...))
}

// confirm asks for the chunks of files whose content is known, and returns
// those of which some are gone.
func (p *pusher) confirm(ctx context.Context, files []*source) (gone []*source, err error) {
	const most = 16 << 10
	var ids []sum
	var owners []*source
	lost := map[*source]bool{}
	ask := func() error {
		missing, err := p.to.missing(ctx, ids)
		if err != nil {
			return err
		}
		for _, i := range missing {
			if f := owners[i]; !lost[f] {
				lost[f] = true
				gone = append(gone, f)
			}
		}
		ids, owners = ids[:0], owners[:0]
		return nil
	}
	for _, f := range files {
		for _, id := range f.chunks {
			if p.seen[id] {
				continue
			}
			ids, owners = append(ids, id), append(owners, f)
			if len(ids) == most {
				if err := ask(); err != nil {
					return nil, err
				}
			}
		}
	}
	if len(ids) > 0 {
		err = ask()
	}
	return gone, err
}

// task is a piece of a file to be read.
type task struct {
	f     *reading
	piece int
}

// reading is a file that is read in pieces, perhaps by several workers.
type reading struct {
	*source
	plan   plan
	pages  *pageLookup
	pieces [][]sum
	left   atomic.Int32
	quiet  atomic.Bool
}

// read reads files, cuts them and sends what is missing.
func (p *pusher) read(ctx context.Context, files []*source) error {
	if len(files) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tasks := make(chan task)
	var wg sync.WaitGroup
	for range workers() {
		wg.Go(func() {
			if err := p.work(ctx, tasks); err != nil {
				cancel(err)
			}
		})
	}
	hand := func() {
		defer close(tasks)
		for _, f := range files {
			r := &reading{source: f, plan: planFor(f.Size)}
			r.pages = p.memory().lookup(f.Path, f.Size, r.plan)
			r.pieces = make([][]sum, r.plan.pieces(f.Size))
			r.left.Store(int32(len(r.pieces)))
			if len(r.pieces) == 0 {
				r.chunks, r.known = nil, true
			}
			r.quiet.Store(true)
			for i := range r.pieces {
				select {
				case tasks <- task{r, i}:
				case <-ctx.Done():
					return
				}
			}
		}
	}
	hand()
	wg.Wait()
	return context.Cause(ctx)
}

// work is what each of the workers does.
func (p *pusher) work(ctx context.Context, tasks <-chan task) error {
	b := batch{pusher: p}
	var c cutter
	for t := range tasks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.do(ctx, &c, &b); err != nil {
			return err
		}
	}
	return b.flush(ctx)
}

// do reads one piece.
func (t task) do(ctx context.Context, c *cutter, b *batch) error {
	f, err := os.Open(t.f.path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	if t.f.watch && !quiet(int(f.Fd())) {
		t.f.quiet.Store(false)
	}
	if err := t.f.same(f); err != nil {
		return err
	}
	var holes *holeMap
	if t.f.offset == 0 {
		if holes, err = mapHoles(f, t.f.Size, t.f.blocks); err != nil {
			return err
		}
	}
	off := int64(t.piece) * t.f.plan.piece
	n := min(t.f.plan.piece, t.f.Size-off)
	var list []sum
	c.pages = t.f.pages
	at := t.f.offset + off
	err = c.cut(shifted{f, t.f.offset}, t.f.plan, off, n, holes, func(id sum, plain []byte) error {
		list = append(list, id)
		if plain == nil {
			zero, _ := id.isZeros()
			at += zero
			return nil
		}
		b.pusher.found(id, spot{t.f.path, at, len(plain)})
		at += int64(len(plain))
		return b.add(ctx, id, plain)
	})
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s became shorter while it was read", t.f.path)
	}
	if err != nil {
		return err
	}
	t.f.pieces[t.piece] = list
	b.pusher.came(n)
	if t.f.left.Add(-1) == 0 {
		b.pusher.memory().keep(t.f.Path, t.f.pages)
		return t.f.done(f)
	}
	return nil
}

// found remembers where a chunk is.
func (p *pusher) found(id sum, at spot) {
	if p.spots == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spots[id] = at
}

// memory is that of whom we push to.
func (p *pusher) memory() *pageMemory {
	if p.trees == nil {
		return nil
	}
	return &p.trees.memory().pages
}

// done puts the pieces together when the last one was read.
func (r *reading) done(f *os.File) error {
	r.chunks = r.chunks[:0]
	for _, piece := range r.pieces {
		r.chunks = appendChunks(r.chunks, piece)
	}
	if err := r.same(f); err != nil {
		return err
	}
	r.known = true
	if r.watch {
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			return fmt.Errorf("looking at %s: %w", r.path, err)
		}
		r.trusted = r.quiet.Load() && stampOf(&st) == r.stamp && r.stamp.settled(wallClock())
	}
	return nil
}

// same fails if the content of a live file is needed and has changed.
func (s *source) same(f *os.File) error {
	if !s.live {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fmt.Errorf("looking at %s: %w", s.path, err)
	}
	if stampOf(&st) != s.stamp {
		return fmt.Errorf("%w any more, and %s has changed since: a new snapshot is needed", ErrMissing, s.path)
	}
	return nil
}

// appendChunks joins runs of zeros that were cut only because a piece ended.
func appendChunks(list, more []sum) []sum {
	if len(list) > 0 && len(more) > 0 {
		a, zeroA := list[len(list)-1].isZeros()
		b, zeroB := more[0].isZeros()
		if zeroA && zeroB {
			list[len(list)-1] = zeros(a + b)
			more = more[1:]
		}
	}
	return append(list, more...)
}

// shifted reads from an offset on.
type shifted struct {
	f  *os.File
	by int64
}

func (s shifted) ReadAt(b []byte, off int64) (int, error) { return s.f.ReadAt(b, off+s.by) }
