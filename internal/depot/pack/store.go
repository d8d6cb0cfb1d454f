package pack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
)

// Store is a depot on disk. Several processes may use one folder at once. A
// process that is killed leaves every chunk whole or not there at all.
type Store struct {
	dir    string // of the packs
	gate   generationLock
	touch  toucher
	quota  quota
	memory tree.TreeMemory

	// Locks are taken in this order: gate, syncing, writing, mu.

	syncing sync.Mutex // held by the one who makes things durable
	writing sync.Mutex // for the writers
	writer  *packWriter
	full    []*packWriter // not yet made durable and sealed
	closed  bool
	write   func(*os.File, []byte, int64) (int, error) // for tests

	mu         sync.RWMutex // for all below
	ready      bool         // packs of dead writers were taken over
	loaded     bool
	generation uint64
	index      *index
	packs      []*pack
	numbers    map[packName]uint32
}

// pack is a pack as readers know it.
type pack struct {
	name   packName
	read   int64 // bytes of its index that have been taken in
	sealed bool
	dead   map[uint32]bool // offsets of damaged blocks
	ours   bool            // this process writes it, so the index in memory is ahead
}

var errClosed = errors.New("the depot is closed")

// Open opens the depot in dir, which it makes if need be.
func Open(dir string) (*Store, error) {
	s := &Store{
		dir:   filepath.Join(dir, "packs"),
		gate:  generationLock{path: filepath.Join(dir, "gate")},
		touch: toucher{dir: filepath.Join(dir, "touched"), now: SinceBoot, boot: thisBoot()},
	}
	for _, d := range []string{s.dir, s.touch.dir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("opening the depot: %w", err)
		}
	}
	return s, nil
}

// Close ends the use of the store. What was not synced may be lost.
func (s *Store) Close() error {
	s.syncing.Lock()
	defer s.syncing.Unlock()
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	errs := []error{s.touch.closeFile()}
	for _, w := range s.full {
		errs = append(errs, w.f.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.f.Close())
	}
	s.full, s.writer = nil, nil
	return errors.Join(errs...)
}

// MissingChunks says which of ids are not there. The others stay until a push that
// relies on them had its time; see CollectGarbage.
func (s *Store) MissingChunks(ctx context.Context, ids []chunk.ID) ([]chunk.ID, error) {
	sums, err := chunk.ParseIDs(ids)
	if err != nil {
		return nil, err
	}
	gone, err := s.MissingSums(ctx, sums)
	if err != nil {
		return nil, err
	}
	missing := make([]chunk.ID, len(gone))
	for i, n := range gone {
		missing[i] = ids[n]
	}
	return missing, nil
}

// MissingSums gives the positions in ids of those that are not there.
func (s *Store) MissingSums(ctx context.Context, ids []chunk.Sum) ([]int, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	generation, leave, err := s.gate.enterShared()
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := s.prepareIndex(generation); err != nil {
		return nil, err
	}
	gone, found := s.lookUp(ids)
	if len(gone) > 0 {
		// Another process may have brought it.
		if grown, err := s.refreshIndex(); err != nil {
			return nil, err
		} else if grown {
			gone, found = s.lookUp(ids)
		}
	}
	return gone, s.touch.touchNow(found)
}

// lookUp looks for ids: the positions of those that are not there, and the
// blocks of the others.
func (s *Store) lookUp(ids []chunk.Sum) (gone []int, found []touchedBlock) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	seen := map[blockLocation]bool{}
	var last blockLocation // neighbours are mostly in the same block
	for i, id := range ids {
		if _, zero := id.IsZeros(); zero {
			continue
		}
		p, ok := s.index.findPlace(id)
		switch {
		case !ok:
			gone = append(gone, i)
		case p != last && !seen[p]:
			seen[p] = true
			found = append(found, touchedBlock{s.packs[p.pack].name, p.off})
		}
		if ok {
			last = p
		}
	}
	return gone, found
}

// PutChunk adds a chunk.
func (s *Store) PutChunk(ctx context.Context, id chunk.ID, plain []byte) error {
	raw, b, err := chunk.EncodeChunk(id, plain)
	if err != nil {
		return err
	}
	return s.PutBlocks(ctx, raw, []*chunk.Block{b})
}

// PutBlocks adds blocks whose content was verified; raw is all of them, one
// after another.
func (s *Store) PutBlocks(ctx context.Context, raw []byte, blocks []*chunk.Block) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	generation, leave, err := s.gate.enterShared()
	if err != nil {
		return err
	}
	defer leave()
	if err := s.prepareIndex(generation); err != nil {
		return err
	}
	raw, blocks, found := s.onlyNew(raw, blocks)
	if len(blocks) > 0 {
		records, name, err := s.appendBlocks(raw, blocks, false)
		if err != nil {
			return err
		}
		for _, r := range records {
			found = append(found, touchedBlock{name, r.off})
		}
	}
	return s.touch.touchNow(found)
}

// onlyNew leaves out those blocks of which every chunk is there already, and
// says where.
func (s *Store) onlyNew(raw []byte, blocks []*chunk.Block) ([]byte, []*chunk.Block, []touchedBlock) {
	var fresh []*chunk.Block
	var found []touchedBlock
	for _, b := range blocks {
		ids := make([]chunk.Sum, b.Count)
		for i := range ids {
			ids[i] = b.ChunkID(i)
		}
		if gone, at := s.lookUp(ids); len(gone) > 0 {
			fresh = append(fresh, b)
		} else {
			found = append(found, at...)
		}
	}
	if len(fresh) == len(blocks) {
		return raw, blocks, found
	}
	raw = nil
	for _, b := range fresh {
		raw = append(raw, b.Raw...)
	}
	return raw, fresh, found
}

// appendBlocks writes blocks to the pack of this process and takes them into the
// index; with replace even those chunks that are elsewhere already.
func (s *Store) appendBlocks(raw []byte, blocks []*chunk.Block, replace bool) ([]record, packName, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed {
		return nil, packName{}, errClosed
	}
	if s.writer != nil && !s.writer.hasRoom(len(raw)) {
		s.full = append(s.full, s.writer)
		s.writer = nil
	}
	if s.writer == nil {
		w, err := createPack(s.dir)
		if err != nil {
			return nil, packName{}, err
		}
		s.writer = w
	}
	s.writer.write = s.write
	records, err := s.writer.addBlocks(raw, blocks)
	if err != nil {
		return nil, packName{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	number := s.packNumber(s.writer.name)
	s.packs[number].ours = true
	for _, r := range records {
		s.index.addChunks(blockLocation{number, r.off, r.size}, r.ids, replace)
	}
	return records, s.writer.name, nil
}

// prepareIndex makes the index ready for who relies on chunks or adds some: as new
// as the generation, and with what dead writers left. The caller is inside the
// gate.
func (s *Store) prepareIndex(generation uint64) error {
	s.mu.RLock()
	fresh := s.ready && s.loaded && s.generation == generation
	s.mu.RUnlock()
	if fresh {
		return nil
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed {
		return errClosed
	}
	if err := s.takeOverDead(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = true
	if s.loaded && s.generation == generation {
		return nil
	}
	return s.loadIndexes(generation)
}

// packNumber is the place of a pack in s.packs.
func (s *Store) packNumber(n packName) uint32 {
	if number, ok := s.numbers[n]; ok {
		return number
	}
	number := uint32(len(s.packs))
	s.packs = append(s.packs, &pack{name: n})
	s.numbers[n] = number
	return number
}
