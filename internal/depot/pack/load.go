package pack

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// loadIndexes reads the indexes of all packs anew. The caller is inside the gate and
// holds writing and mu.
func (s *Store) loadIndexes(generation uint64) error {
	s.index = newIndex()
	s.packs, s.numbers = nil, map[packName]uint32{}
	s.loaded = false
	names, err := s.listPacks()
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := s.loadPack(s.packNumber(n)); err != nil {
			return err
		}
	}
	s.loadPending()
	s.loaded, s.generation = true, generation
	return nil
}

// loadPending takes in what this process wrote and has not made durable yet.
func (s *Store) loadPending() {
	for _, w := range append(s.full[:len(s.full):len(s.full)], s.writer) {
		if w == nil {
			continue
		}
		number := s.packNumber(w.name)
		s.packs[number].ours = true
		for _, r := range parseIndex(w.pending).blocks {
			if !s.packs[number].dead[r.off] {
				s.index.addChunks(blockLocation{number, r.off, r.size}, r.ids, false)
			}
		}
	}
}

// loadPack takes in what the index of a pack says that was not read yet.
func (s *Store) loadPack(number uint32) error {
	p := s.packs[number]
	f, err := os.Open(indexPath(s.dir, p.name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing in it is durable yet
	}
	if err != nil {
		return fmt.Errorf("reading the index of a pack: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("reading the index of a pack: %w", err)
	}
	if st.Size() <= p.read {
		return nil
	}
	b := make([]byte, st.Size()-p.read)
	if _, err := f.ReadAt(b, p.read); err != nil {
		return fmt.Errorf("reading the index of a pack: %w", err)
	}
	said := parseIndex(b)
	p.read += said.good
	p.sealed = p.sealed || said.sealed
	if len(said.dead) > 0 {
		if p.dead == nil {
			p.dead = map[uint32]bool{}
		}
		maps.Copy(p.dead, said.dead)
		s.index.dropBlocks(func(at blockLocation) bool { return at.pack == number && p.dead[at.off] })
	}
	for _, r := range said.blocks {
		if !p.dead[r.off] {
			s.index.addChunks(blockLocation{number, r.off, r.size}, r.ids, false)
		}
	}
	return nil
}

// renewIndex brings the index up to date for who is not inside the gate and relies
// on nothing.
func (s *Store) renewIndex() error {
	generation, leave, err := s.gate.enterShared()
	if err != nil {
		return err
	}
	defer leave()
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	if s.loaded && s.generation == generation {
		s.mu.Unlock()
		_, err := s.refreshIndex()
		return err
	}
	defer s.mu.Unlock()
	return s.loadIndexes(generation)
}

// refreshIndex takes in what other processes added, and reports whether there was
// something. The index is loaded.
func (s *Store) refreshIndex() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names, err := s.listPacks()
	if err != nil {
		return false, err
	}
	before := len(s.index.places)
	for _, n := range names {
		number := s.packNumber(n)
		if p := s.packs[number]; !p.sealed && !p.ours {
			if err := s.loadPack(number); err != nil {
				return false, err
			}
		}
	}
	return len(s.index.places) > before, nil
}

// takeOverDead takes over, once in the life of a store, the packs of those who
// died, and goes on writing the first that has room. The caller holds writing.
func (s *Store) takeOverDead() error {
	if s.ready {
		return nil
	}
	names, err := s.listPacks()
	if err != nil {
		return err
	}
	for _, n := range names {
		known, err := readIndex(indexPath(s.dir, n))
		if err != nil {
			return err
		}
		if known.sealed {
			continue
		}
		w, err := takeOver(s.dir, n)
		switch {
		case err != nil:
			return err
		case w == nil:
		case s.writer == nil && w.end < packMax/2:
			s.writer = w
		default:
			if err := w.sealPack(); err != nil {
				return err
			}
		}
	}
	return nil
}

// listPacks gives the names of the packs, and removes what was begun or collected
// by somebody who died in the middle of it.
func (s *Store) listPacks() ([]packName, error) {
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("listing the packs: %w", err)
	}
	var names []packName
	for _, f := range files {
		ext := filepath.Ext(f.Name())
		switch name, ok := parsePackName(strings.TrimSuffix(f.Name(), ext)); {
		case !ok:
		case ext == packExt:
			names = append(names, name)
		case ext == newExt:
			removeUnlocked(filepath.Join(s.dir, f.Name()))
		case ext == indexExt:
			s.removeOrphan(name)
		}
	}
	return names, nil
}

// removeOrphan removes an index whose pack is gone: an index is made after its
// pack and goes after it.
func (s *Store) removeOrphan(n packName) {
	if _, err := os.Stat(packPath(s.dir, n)); errors.Is(err, fs.ErrNotExist) {
		os.Remove(indexPath(s.dir, n)) //nolint:errcheck // a matter of tidiness
	}
}
