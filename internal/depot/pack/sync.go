package pack

import (
	"context"
	"errors"
	"slices"
)

// SyncChunks makes durable all that was put before. It costs nothing if nothing was.
func (s *Store) SyncChunks(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.syncing.Lock()
	defer s.syncing.Unlock()
	s.writing.Lock()
	full, open := s.full, s.writer
	s.writing.Unlock()
	var errs []error
	for _, w := range full {
		errs = append(errs, s.syncPack(w, true))
	}
	if open != nil {
		errs = append(errs, s.syncPack(open, false))
	}
	return errors.Join(errs...)
}

// syncPack makes durable what a pack holds; others may go on writing to it
// meanwhile. With seal nothing is added to it any more.
func (s *Store) syncPack(w *packWriter, seal bool) error {
	s.writing.Lock()
	pending := w.pending
	s.writing.Unlock()
	if len(pending) > 0 {
		if err := w.flushPack(); err != nil {
			s.abandonPack(w)
			return err
		}
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if len(pending) > 0 {
		if err := w.noteRecords(pending); err != nil {
			return err
		}
	}
	if !seal {
		return nil
	}
	if err := w.sealPack(); err != nil {
		return err
	}
	s.forgetWriter(w)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.packs[s.packNumber(w.name)]
	p.ours, p.sealed = false, true
	return nil
}

// forgetWriter takes w from the list of those that this process writes. The caller
// holds writing.
func (s *Store) forgetWriter(w *packWriter) {
	if s.writer == w {
		s.writer = nil
	}
	s.full = slices.DeleteFunc(slices.Clone(s.full), func(f *packWriter) bool { return f == w })
}

// abandonPack forgets what a pack holds that could not be made durable: the disk
// has dropped it, and a second try would be told that all is well.
func (s *Store) abandonPack(w *packWriter) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.forgetWriter(w)
	w.f.Close() //nolint:errcheck // it is given up
	lost := map[uint32]bool{}
	for _, r := range parseIndex(w.pending).blocks {
		lost[r.off] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	number := s.packNumber(w.name)
	s.packs[number].ours = false
	s.index.dropBlocks(func(p blockLocation) bool { return p.pack == number && lost[p.off] })
}
