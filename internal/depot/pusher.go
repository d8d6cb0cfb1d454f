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

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
	"github.com/godwit-hpc/godwit/internal/depot/walk"
	"golang.org/x/sys/unix"
)

// pusher is one push under way.
type pusher struct {
	to     chunk.BlockSink
	trees  tree.TreeSink // the same, if it knows trees
	base   []byte        // a tree that it has, of which everything is there
	baseID chunk.Sum

	mu    sync.Mutex
	seen  map[chunk.Sum]bool           // sent, or known to be there
	spots map[chunk.Sum]chunk.FileSpot // where each chunk is; nil: nobody wants to know
	stats Stats

	told        func(done, total int64)
	done, total int64 // bytes of files
}

// beginCount starts to count: of all files, so many bytes are there already.
func (p *pusher) beginCount(there, total int64) {
	p.mu.Lock()
	p.done, p.total = 0, total
	p.mu.Unlock()
	p.countBytes(there)
}

// countBytes counts bytes that are in the depot.
func (p *pusher) countBytes(n int64) {
	if p.told == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	p.told(p.done, p.total)
}

// isFirst reports whether id comes for the first time in this push.
func (p *pusher) isFirst(id chunk.Sum) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen[id] {
		return false
	}
	p.seen[id] = true
	return true
}

// countSent counts what was sent.
func (p *pusher) countSent(bytes int64, chunks int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Moved += bytes
	p.stats.New += chunks
}

// newBatch collects what one worker sends.
func (p *pusher) newBatch() *chunk.Batch { return chunk.NewBatch(p.to, p.isFirst, p.countSent) }

// maxWorkers bounds the workers of a push or a fetch, and so its memory.
const maxWorkers = 8

func workerCount() int { return min(runtime.GOMAXPROCS(0), maxWorkers) }

// pushAll brings in all files that are not in the depot.
func (p *pusher) pushAll(ctx context.Context, files []*source) error {
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
	gone, err := p.confirmFiles(ctx, known)
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
	p.beginCount(there, total)
	return p.readFiles(ctx, append(unknown, gone...))
}

// confirmFiles asks for the chunks of files whose content is known, and returns
// those of which some are gone.
func (p *pusher) confirmFiles(ctx context.Context, files []*source) (gone []*source, err error) {
	const most = 16 << 10
	var ids []chunk.Sum
	var owners []*source
	lost := map[*source]bool{}
	ask := func() error {
		missing, err := p.to.MissingSums(ctx, ids)
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
	plan   chunk.Plan
	pages  *chunk.PageLookup
	pieces [][]chunk.Sum
	left   atomic.Int32
	quiet  atomic.Bool
}

// readFiles reads files, cuts them and sends what is missing.
func (p *pusher) readFiles(ctx context.Context, files []*source) error {
	if len(files) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tasks := make(chan task)
	var wg sync.WaitGroup
	for range workerCount() {
		wg.Go(func() {
			if err := p.workLoop(ctx, tasks); err != nil {
				cancel(err)
			}
		})
	}
	hand := func() {
		defer close(tasks)
		for _, f := range files {
			r := &reading{source: f, plan: chunk.PlanFor(f.Size)}
			r.pages = p.pageMemoryOf().LookupFor(f.Path, f.Size, r.plan)
			r.pieces = make([][]chunk.Sum, r.plan.PieceCount(f.Size))
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

// workLoop is what each of the workers does.
func (p *pusher) workLoop(ctx context.Context, tasks <-chan task) error {
	b := p.newBatch()
	var c chunk.Cutter
	for t := range tasks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.readTask(ctx, p, &c, b); err != nil {
			return err
		}
	}
	return b.FlushMissing(ctx)
}

// readTask reads one piece.
func (t task) readTask(ctx context.Context, p *pusher, c *chunk.Cutter, b *chunk.Batch) error {
	f, err := os.Open(t.f.path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	if t.f.watch && !walk.IsQuiet(int(f.Fd())) {
		t.f.quiet.Store(false)
	}
	if err := t.f.checkSame(f); err != nil {
		return err
	}
	var holes *chunk.HoleMap
	if t.f.offset == 0 {
		if holes, err = chunk.MapHoles(f, t.f.Size, t.f.Blocks); err != nil {
			return err
		}
	}
	off := int64(t.piece) * t.f.plan.PieceSize
	n := min(t.f.plan.PieceSize, t.f.Size-off)
	var list []chunk.Sum
	c.Pages = t.f.pages
	at := t.f.offset + off
	err = c.CutPiece(shifted{f, t.f.offset}, t.f.plan, off, n, holes, func(id chunk.Sum, plain []byte) error {
		list = append(list, id)
		if plain == nil {
			zero, _ := id.IsZeros()
			at += zero
			return nil
		}
		p.recordSpot(id, chunk.FileSpot{File: t.f.path, Offset: at, Size: len(plain)})
		at += int64(len(plain))
		return b.AddChunk(ctx, id, plain)
	})
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s became shorter while it was read", t.f.path)
	}
	if err != nil {
		return err
	}
	t.f.pieces[t.piece] = list
	p.countBytes(n)
	if t.f.left.Add(-1) == 0 {
		p.pageMemoryOf().KeepLookup(t.f.Path, t.f.pages)
		return t.f.joinPieces(f)
	}
	return nil
}

// recordSpot remembers where a chunk is.
func (p *pusher) recordSpot(id chunk.Sum, at chunk.FileSpot) {
	if p.spots == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spots[id] = at
}

// pageMemoryOf is that of whom we push to.
func (p *pusher) pageMemoryOf() *chunk.PageMemory {
	if p.trees == nil {
		return nil
	}
	return &p.trees.PushMemory().Pages
}

// joinPieces puts the pieces together when the last one was read.
func (r *reading) joinPieces(f *os.File) error {
	r.chunks = r.chunks[:0]
	for _, piece := range r.pieces {
		r.chunks = chunk.JoinPieces(r.chunks, piece)
	}
	if err := r.checkSame(f); err != nil {
		return err
	}
	r.known = true
	if r.watch {
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			return fmt.Errorf("looking at %s: %w", r.path, err)
		}
		r.trusted = r.quiet.Load() && walk.StampOf(&st) == r.Stamp && r.Stamp.IsSettled(wallClock())
	}
	return nil
}

// checkSame fails if the content of a live file is needed and has changed.
func (s *source) checkSame(f *os.File) error {
	if !s.live {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fmt.Errorf("looking at %s: %w", s.path, err)
	}
	if walk.StampOf(&st) != s.Stamp {
		return fmt.Errorf("%w any more, and %s has changed since: a new snapshot is needed", chunk.ErrMissing, s.path)
	}
	return nil
}

// shifted reads from an offset on.
type shifted struct {
	f  *os.File
	by int64
}

func (s shifted) ReadAt(b []byte, off int64) (int, error) { return s.f.ReadAt(b, off+s.by) }
