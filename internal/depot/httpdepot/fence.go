package httpdepot

import (
	"context"
	"net/http"
	"sync"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/pack"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
)

// Fence is what somebody may ask a store about: the chunks of the trees that were
// granted, and those that came from them. Of all others they are told that they are
// missing, whether they are there or not: else they could find out what files
// somebody has.
type Fence struct {
	store *pack.Store

	mu     sync.Mutex
	grants map[chunk.ID]*grant
	keys   int // in all grants
	// Chunks that were offered, in two generations: the older one is dropped when the
	// younger is full. Who asks about what was dropped has to send it again.
	offered, before map[chunk.HalfSum]struct{}
}

// grant is a tree that may be asked about.
type grant struct {
	count int
	keys  map[chunk.HalfSum]struct{} // of its chunks and its own; nil: not read yet
}

const (
	// maxGrantKeys bounds the memory for grants. Beyond it nothing is refused: it takes
	// hundreds of gigabytes in jobs of one user at one cluster at the same time.
	maxGrantKeys = 4 << 20
	// maxOffered is the size of one generation of chunks that were offered.
	maxOffered = 1 << 20
)

// NewFence lets nobody ask about anything in the store.
func NewFence(s *pack.Store) *Fence {
	return &Fence{store: s, grants: map[chunk.ID]*grant{}, offered: map[chunk.HalfSum]struct{}{}}
}

// Grant lets a tree be asked about until revoke is called.
func (f *Fence) Grant(tree chunk.ID) (revoke func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.grants[tree]
	if g == nil {
		g = &grant{}
		f.grants[tree] = g
	}
	g.count++
	return sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if g.count--; g.count == 0 {
			f.keys -= len(g.keys)
			delete(f.grants, tree)
		}
	})
}

// admits says which of ids may be asked about.
func (f *Fence) admits(ctx context.Context, ids []chunk.Sum) ([]bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.read(ctx); err != nil {
		return nil, err
	}
	yes := make([]bool, len(ids))
	for i, id := range ids {
		_, zero := id.IsZeros()
		yes[i] = zero || f.keys > maxGrantKeys || f.knows(id.FirstHalf())
	}
	return yes, nil
}

func (f *Fence) knows(k chunk.HalfSum) bool {
	if _, ok := f.offered[k]; ok {
		return true
	}
	if _, ok := f.before[k]; ok {
		return true
	}
	for _, g := range f.grants { // order-free: any will do
		if _, ok := g.keys[k]; ok {
			return true
		}
	}
	return false
}

// read reads the trees that were granted and not read yet. Of one that is not whole
// the root may be asked about, so that who needs it learns what is wrong.
func (f *Fence) read(ctx context.Context) error {
	for id, g := range f.grants { // order-free: all are read
		if g.keys != nil {
			continue
		}
		root, err := chunk.ParseID(id)
		if err != nil {
			g.keys = map[chunk.HalfSum]struct{}{} // no tree: nothing is in it
			continue
		}
		keys := map[chunk.HalfSum]struct{}{root.FirstHalf(): {}}
		text, own, err := tree.ReadText(ctx, f.store, id)
		var needed map[chunk.Sum]bool
		if err == nil {
			needed, err = tree.TextSums(text)
		}
		if tree.IgnoreAbsent(err) != nil {
			return err
		}
		for _, id := range own {
			keys[id.FirstHalf()] = struct{}{}
		}
		for id := range needed { // order-free: a set
			keys[id.FirstHalf()] = struct{}{}
		}
		g.keys = keys
		f.keys += len(keys)
	}
	return nil
}

// offer notes chunks that came from who may ask.
func (f *Fence) offer(ids []chunk.Sum) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		if len(f.offered) >= maxOffered {
			f.offered, f.before = map[chunk.HalfSum]struct{}{}, f.offered
		}
		f.offered[id.FirstHalf()] = struct{}{}
	}
}

// admitsTree says whether a tree, and every chunk of it, may be asked about: who names
// a chunk in a tree of their own must not learn by it whether the chunk is there.
func (f *Fence) admitsTree(ctx context.Context, id chunk.Sum) (bool, error) {
	if yes, err := f.admits(ctx, []chunk.Sum{id}); err != nil || !yes[0] {
		return false, err
	}
	text, ids, err := tree.ReadText(ctx, f.store, id.ToID())
	if err != nil {
		return false, tree.IgnoreAbsent(err)
	}
	needed, err := tree.TextSums(text)
	if err != nil {
		return false, tree.IgnoreAbsent(err)
	}
	for id := range needed { // order-free: all are asked about
		ids = append(ids, id)
	}
	yes, err := f.admits(ctx, ids)
	for _, y := range yes {
		if !y {
			return false, err
		}
	}
	return err == nil, err
}

// split gives the positions of those that may be asked about, and of the others.
func (f *Fence) split(ctx context.Context, ids []chunk.Sum) (may, not []int, err error) {
	yes, err := f.admits(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	for i := range ids {
		if yes[i] {
			may = append(may, i)
		} else {
			not = append(not, i)
		}
	}
	return may, not, nil
}

// FencedHandler serves s to Clients that may ask about what the fence lets through.
func FencedHandler(s *pack.Store, f *Fence) http.Handler { return handlerOf(&handler{s, f}) }
