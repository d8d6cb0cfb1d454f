package pack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"golang.org/x/sys/unix"
)

// GetChunk gives the plain bytes of a chunk, verified.
func (s *Store) GetChunk(ctx context.Context, id chunk.ID) ([]byte, error) {
	want, err := chunk.ParseID(id)
	if err != nil {
		return nil, err
	}
	var got []byte
	err = s.GetMany(ctx, []chunk.Sum{want}, func(_ chunk.Sum, plain []byte) error {
		got = append(make([]byte, 0, len(plain)), plain...)
		return nil
	})
	return got, err
}

// GetMany calls give for each of ids, which are all different, in any order,
// with its verified bytes, which are give's until it returns. If some cannot be
// had the error, after the others were given, is an *absent.
func (s *Store) GetMany(ctx context.Context, ids []chunk.Sum, give func(id chunk.Sum, plain []byte) error) error {
	want := make([]chunk.Sum, 0, len(ids))
	for _, id := range ids {
		n, zero := id.IsZeros()
		switch {
		case !zero:
			want = append(want, id)
		case n > chunk.MaxChunk:
			return fmt.Errorf("%d zero bytes are too many at once", n)
		default:
			if err := give(id, make([]byte, n)); err != nil {
				return err
			}
		}
	}
	var buf []byte
	return s.EachBlock(ctx, want, func(b *chunk.Block, wanted map[chunk.Sum]bool) error {
		var err error
		buf, err = b.EachChunk(buf, func(_ int, id chunk.Sum, plain []byte) error {
			if !wanted[id] {
				return nil
			}
			if chunk.SumOf(plain) != id {
				return fmt.Errorf("%w: the content of %s is not what its ID says", chunk.ErrBadBlock, id.ToID())
			}
			return give(id, plain)
		})
		return err
	})
}

// EachBlock calls f for the blocks that hold ids, each with those that it was
// read for, in the order in which they are first needed. A block that f finds
// to be bad (ErrBadBlock) counts as damaged: it is dropped, and its chunks are
// looked for once more elsewhere.
func (s *Store) EachBlock(ctx context.Context, ids []chunk.Sum,
	f func(b *chunk.Block, wanted map[chunk.Sum]bool) error) error {
	r := blockReader{store: s, open: map[packName]*os.File{}}
	defer r.closeFiles()
	var damaged map[chunk.Sum]bool
	for try := 0; ; try++ {
		again, bad, err := s.passBlocks(ctx, &r, ids, try, f)
		if err != nil {
			return err
		}
		news := false
		for _, id := range bad {
			if damaged == nil {
				damaged = map[chunk.Sum]bool{}
			}
			news = news || !damaged[id]
			damaged[id] = true
		}
		ids = append(again, bad...)
		if len(ids) == 0 {
			return nil
		}
		// A block that was dropped comes back if the index of its pack is damaged
		// too.
		if try > 0 && !news {
			break
		}
	}
	a := &chunk.AbsentError{}
	for _, id := range ids {
		if damaged[id] {
			a.Damaged = append(a.Damaged, id)
		} else {
			a.Missing = append(a.Missing, id)
		}
	}
	return a
}

// passBlocks goes through ids once: those that were not found, and those whose
// block is damaged.
func (s *Store) passBlocks(ctx context.Context, r *blockReader, ids []chunk.Sum, try int,
	f func(b *chunk.Block, wanted map[chunk.Sum]bool) error) (again, bad []chunk.Sum, err error) {
	s.mu.RLock()
	loaded := s.loaded
	s.mu.RUnlock()
	if try > 0 || !loaded {
		if err := s.renewIndex(); err != nil {
			return nil, nil, err
		}
	}
	groups, again := s.groupByBlock(ids)
	for _, g := range groups {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		b, err := r.readBlock(g)
		if errors.Is(err, fs.ErrNotExist) {
			// Collected, and perhaps moved, since it was looked up.
			again = append(again, g.ids...)
			continue
		}
		if err == nil {
			again = append(again, g.strange...)
			err = f(b, g.wanted)
		} else if errors.Is(err, unix.EIO) {
			err = fmt.Errorf("%w: %w", chunk.ErrBadBlock, err)
		}
		if errors.Is(err, chunk.ErrBadBlock) {
			s.dropBlock(g)
			bad = append(bad, g.ids...)
		} else if err != nil {
			return nil, nil, err
		}
	}
	return again, bad, nil
}

// blockGroup is a block and what is wanted of it.
type blockGroup struct {
	name    packName
	at      blockLocation
	ids     []chunk.Sum
	wanted  map[chunk.Sum]bool
	strange []chunk.Sum // of ids, those that only look alike
}

// groupByBlock puts ids together by the block that holds them.
func (s *Store) groupByBlock(ids []chunk.Sum) (groups []*blockGroup, unknown []chunk.Sum) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	byPlace := map[blockLocation]*blockGroup{}
	for _, id := range ids {
		p, ok := s.index.findPlace(id)
		if !ok {
			unknown = append(unknown, id)
			continue
		}
		g := byPlace[p]
		if g == nil {
			g = &blockGroup{name: s.packs[p.pack].name, at: p, wanted: map[chunk.Sum]bool{}}
			byPlace[p] = g
			groups = append(groups, g)
		}
		g.ids = append(g.ids, id)
		g.wanted[id] = true
	}
	return groups, unknown
}

// blockReader reads blocks, keeping packs open between two of them.
type blockReader struct {
	store *Store
	open  map[packName]*os.File
	buf   []byte
}

func (r *blockReader) closeFiles() {
	for _, f := range r.open { // order-free: all are closed
		f.Close() //nolint:errcheck // only read
	}
}

// readBlock reads a block and checks that it holds what is wanted. The block is
// good until the next read.
func (r *blockReader) readBlock(g *blockGroup) (*chunk.Block, error) {
	f := r.open[g.name]
	if f == nil {
		var err error
		if f, err = os.Open(packPath(r.store.dir, g.name)); err != nil {
			return nil, fmt.Errorf("opening a pack: %w", err)
		}
		r.open[g.name] = f
	}
	if cap(r.buf) < int(g.at.size) {
		r.buf = make([]byte, max(int(g.at.size), chunk.MaxBlock))
	}
	raw := r.buf[:g.at.size]
	if _, err := f.ReadAt(raw, int64(g.at.off)); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%w: the pack ends before it", chunk.ErrBadBlock)
		}
		return nil, fmt.Errorf("reading a pack: %w", err)
	}
	b, err := chunk.ParseBlock(raw)
	if err != nil {
		return nil, err
	}
	return b, g.checkBlock(b)
}

// checkBlock checks that the block holds what is wanted. The index knows only half
// of an ID: one that agrees in that half alone was never put, and is taken out.
func (g *blockGroup) checkBlock(b *chunk.Block) error {
	has := map[chunk.HalfSum]chunk.Sum{}
	for i := range b.Count {
		has[b.ChunkID(i).FirstHalf()] = b.ChunkID(i)
	}
	for _, id := range g.ids {
		switch got, ok := has[id.FirstHalf()]; {
		case !ok:
			return fmt.Errorf("%w: it holds other chunks than the index says", chunk.ErrBadBlock)
		case got != id:
			g.strange = append(g.strange, id)
			delete(g.wanted, id)
		}
	}
	return nil
}

// dropBlock sees to it that a damaged block counts as missing from now on, here
// and in every other process, so that the next push heals it. Where that cannot
// be written down, on a full disk, the next reader finds the damage again.
func (s *Store) dropBlock(g *blockGroup) {
	_, took, leave, err := s.gate.enterExclusive()
	if err == nil {
		defer leave()
		if _, err = os.Stat(packPath(s.dir, g.name)); err == nil {
			err = markDead(s.dir, g.name, g.at.off)
		}
		if err == nil {
			took() //nolint:errcheck // see above
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if number, ok := s.numbers[g.name]; ok {
		s.index.dropBlocks(func(p blockLocation) bool { return p.pack == number && p.off == g.at.off })
	}
}
