package pack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
	"golang.org/x/sys/unix"
)

// Collected is what CollectGarbage did.
type Collected struct {
	Chunks int        // dropped
	Bytes  int64      // freed on disk
	Kept   int        // chunks still there
	Bad    []chunk.ID // roots of which something is missing or damaged
}

// CollectGarbage drops chunks that no root reaches and that no push put, or was told
// are there, within olderThan. A push that takes longer than ten minutes asks
// again in the end, so that olderThan should not be less, and more than the
// time between the end of a push and its tree being among the roots. 0 spares
// nothing. Space is freed by packs as a whole: single dead chunks among many
// that live stay until they are a fourth of their pack, and can be used again
// until then.
func (s *Store) CollectGarbage(ctx context.Context, roots []chunk.ID, olderThan time.Duration) (Collected, error) {
	var c Collected
	live, err := s.reachableChunks(ctx, roots, &c)
	if err != nil {
		return c, err
	}
	if err := s.SyncChunks(ctx); err != nil {
		return c, err
	}
	names, err := s.listPacks()
	if err != nil {
		return c, fmt.Errorf("collecting: %w", err)
	}
	sweep := sweeper{s: s, live: live, olderThan: olderThan, result: &c}
	// What is dead as a whole goes first: on a full disk the rest needs its room.
	for _, rewrite := range []bool{false, true} {
		for _, n := range names {
			if err := ctx.Err(); err != nil {
				return c, err
			}
			if err := sweep.sweepPack(ctx, n, rewrite); err != nil {
				return c, fmt.Errorf("collecting pack %s: %w", n, err)
			}
		}
	}
	if err := s.renewIndex(); err != nil {
		return c, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	c.Kept = s.index.countChunks()
	return c, nil
}

// reachableChunks finds all chunks that the roots need.
func (s *Store) reachableChunks(ctx context.Context, roots []chunk.ID, c *Collected) (map[chunk.HalfSum]bool, error) {
	live := map[chunk.HalfSum]bool{}
	for _, id := range roots {
		text, own, err := tree.ReadText(ctx, s, id)
		var needed map[chunk.Sum]bool
		if err == nil {
			needed, err = tree.TextSums(text)
		}
		if errors.Is(err, chunk.ErrMissing) || errors.Is(err, chunk.ErrDamaged) {
			c.Bad = append(c.Bad, id)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("collecting: %w", err)
		}
		for _, o := range own {
			live[o.FirstHalf()] = true
		}
		for id := range needed { // order-free: a set
			live[id.FirstHalf()] = true
		}
	}
	return live, nil
}

// sweeper goes through packs.
type sweeper struct {
	s         *Store
	live      map[chunk.HalfSum]bool
	olderThan time.Duration
	result    *Collected
}

// sweepPack removes a pack of which nothing lives, or, with rewrite, writes what lives
// elsewhere if enough of it is dead. Nobody is inside the gate meanwhile.
func (w *sweeper) sweepPack(ctx context.Context, n packName, rewrite bool) error {
	generation, took, leave, err := w.s.gate.enterExclusive()
	if err != nil {
		return err
	}
	defer leave()
	if err := w.s.prepareIndex(generation); err != nil {
		return err
	}
	// What was put since would otherwise look as if it were not there.
	if err := w.s.SyncChunks(ctx); err != nil {
		return err
	}
	v, err := w.inspectPack(n)
	if err != nil || v == nil {
		return err
	}
	if len(v.kept) > 0 && (!rewrite || !v.worthIt()) {
		return nil
	}
	unlock, err := w.s.letGo(ctx, n)
	if err != nil || unlock == nil {
		return err
	}
	defer unlock()
	if err := w.moveLiving(v); err != nil {
		return err
	}
	// From here on the pack counts as gone.
	if err := os.Remove(packPath(w.s.dir, n)); err != nil {
		return err
	}
	if err := os.Remove(indexPath(w.s.dir, n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w.result.Chunks += v.dead
	w.result.Bytes += v.size - v.moved
	generation, err = took()
	if err != nil {
		return err
	}
	w.s.forgetPack(n, generation)
	return nil
}

// forgetPack drops a pack from the index in memory.
func (s *Store) forgetPack(n packName, generation uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number, ok := s.numbers[n]; ok {
		s.index.dropBlocks(func(p blockLocation) bool { return p.pack == number })
		s.packs[number].sealed = true
	}
	s.generation = generation
}

// verdict is what is to become of a pack.
type verdict struct {
	name  packName
	size  int64
	kept  []keptBlock
	dead  int   // chunks
	lives int64 // bytes, about
	moved int64
}

// keptBlock is a block of which something lives.
type keptBlock struct {
	record
	all  bool          // everything in it does
	used bool          // by a push
	at   time.Duration // when that was
}

// worthIt reports whether enough is dead to write the rest elsewhere.
func (v *verdict) worthIt() bool {
	const small = 8 << 20
	return v.size <= small || v.size-v.lives >= v.size/4
}

// inspectPack finds out what lives in a pack; nil if it is to stay as it is.
func (w *sweeper) inspectPack(n packName) (*verdict, error) {
	st, err := os.Stat(packPath(w.s.dir, n))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	said, err := readIndex(indexPath(w.s.dir, n))
	if err != nil {
		return nil, err
	}
	v := w.judgePack(n, said, nil)
	if v.dead == 0 && len(said.dead) == 0 {
		return nil, nil
	}
	if w.olderThan > 0 {
		used, err := w.s.touch.recentBlocks(w.olderThan)
		if err != nil {
			return nil, err
		}
		v = w.judgePack(n, said, used)
	}
	if v.dead == 0 && len(said.dead) == 0 {
		return nil, nil
	}
	v.size = st.Size()
	return v, nil
}

// judgePack says what lives, given what pushes use.
func (w *sweeper) judgePack(n packName, said summary, used map[touchedBlock]time.Duration) *verdict {
	v := &verdict{name: n}
	for _, r := range said.blocks {
		k := keptBlock{record: r}
		k.at, k.used = used[touchedBlock{n, r.off}]
		lives := 0
		for _, id := range r.ids {
			if k.used || w.live[id.FirstHalf()] {
				lives++
			}
		}
		v.dead += len(r.ids) - lives
		if lives > 0 {
			k.all = lives == len(r.ids)
			v.kept = append(v.kept, k)
			v.lives += int64(r.size) * int64(lives) / int64(len(r.ids))
		}
	}
	return v
}

// letGo makes sure that nobody writes to the pack, and keeps it so until unlock
// is called; nil if another process does. A pack of our own is ended.
func (s *Store) letGo(ctx context.Context, n packName) (unlock func(), err error) {
	s.writing.Lock()
	if s.writer != nil && s.writer.name == n {
		s.full = append(slices.Clone(s.full), s.writer)
		s.writer = nil
	}
	s.writing.Unlock()
	if err := s.SyncChunks(ctx); err != nil { // seals it
		return nil, err
	}
	f, err := os.OpenFile(packPath(s.dir, n), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil, f.Close()
	}
	return func() { f.Close() /* it is gone, or only locked */ }, nil //nolint:errcheck // nothing was written
}

// moveLiving writes what lives in a pack elsewhere.
func (w *sweeper) moveLiving(v *verdict) error {
	if len(v.kept) == 0 {
		return nil
	}
	r := blockReader{store: w.s, open: map[packName]*os.File{}}
	defer r.closeFiles()
	m := mover{w: w}
	for _, k := range v.kept {
		g := &blockGroup{name: v.name, at: blockLocation{off: k.off, size: k.size}}
		b, err := r.readBlock(g)
		if errors.Is(err, chunk.ErrBadBlock) {
			v.dead += len(k.ids) // so it is found missing, and can be healed
			continue
		}
		if err != nil {
			return err
		}
		if k.all {
			err = m.addWhole(b, k)
		} else {
			err = m.addLiving(b)
		}
		if err != nil {
			return err
		}
	}
	if err := m.flushBlocks(); err != nil {
		return err
	}
	v.moved = m.moved
	return w.s.SyncChunks(context.Background())
}
