package pack

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"golang.org/x/sys/unix"
)

// A pack is a file of blocks, one after another. Exactly one process adds to a
// pack, holding a lock on it; when that process dies the next one to write
// takes the pack over, from the last block that is whole.
const (
	packMagic  = "gwPack1\n"
	packHeader = 8
	packMax    = 256 << 20 // then another is begun
	packExt    = ".pack"
	indexExt   = ".index"
	newExt     = ".new"
)

// packName is a pack's name: 8 random bytes.
type packName [8]byte

func (n packName) String() string { return hex.EncodeToString(n[:]) }

func parsePackName(s string) (packName, bool) {
	var n packName
	if len(s) != 2*len(n) {
		return n, false
	}
	_, err := hex.Decode(n[:], []byte(s))
	return n, err == nil && n.String() == s
}

func packPath(dir string, n packName) string  { return filepath.Join(dir, n.String()+packExt) }
func indexPath(dir string, n packName) string { return filepath.Join(dir, n.String()+indexExt) }

// packWriter adds blocks to a pack.
type packWriter struct {
	dir     string
	name    packName
	f       *os.File // locked
	end     int64    // of what is written
	pending []byte   // records of blocks that are not known to be durable
	fresh   bool     // the pack's name is not known to be durable
	// write is f.WriteAt; tests put a disk in its place that fills up.
	write func(f *os.File, b []byte, off int64) (int, error)
}

// createPack begins a pack. It gets its name when it is locked, so that nobody
// takes it for one whose writer died.
func createPack(dir string) (*packWriter, error) {
	for range 10 {
		w, err := tryPack(dir)
		if !errors.Is(err, os.ErrNotExist) {
			return w, err
		}
	}
	return tryPack(dir)
}

// tryPack fails with os.ErrNotExist if another process tidied the pack away
// before it was locked.
func tryPack(dir string) (*packWriter, error) {
	var n packName
	if _, err := rand.Read(n[:]); err != nil {
		return nil, fmt.Errorf("naming a pack: %w", err)
	}
	temporary := filepath.Join(dir, n.String()+newExt)
	f, err := os.OpenFile(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("beginning a pack: %w", err)
	}
	w := &packWriter{dir: dir, name: n, f: f, end: packHeader, fresh: true}
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		if _, err = f.WriteAt([]byte(packMagic), 0); err == nil {
			err = os.Rename(temporary, packPath(dir, n))
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("beginning a pack: %w", err), f.Close(), os.Remove(temporary))
	}
	return w, nil
}

// takeOver locks a pack whose writer died, makes what it holds durable and
// known, and cuts off what is not whole. It returns nil if there is nothing to
// take over: somebody writes the pack, or it is complete, or gone.
func takeOver(dir string, n packName) (*packWriter, error) {
	f, err := os.OpenFile(packPath(dir, n), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("taking over a pack: %w", err)
	}
	w := &packWriter{dir: dir, name: n, f: f}
	taken, err := w.recoverPack()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("taking over pack %s: %w", n, err), f.Close())
	}
	if !taken {
		return nil, f.Close()
	}
	return w, nil
}

func (w *packWriter) recoverPack() (bool, error) {
	err := unix.Flock(int(w.f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(w.f.Fd()), &st); err != nil {
		return false, err
	}
	known, err := readIndex(indexPath(w.dir, w.name))
	if err != nil || st.Nlink == 0 || known.sealed {
		return false, err
	}
	if err := os.Truncate(indexPath(w.dir, w.name), known.good); err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	// What the index names was durable, so it cannot end before that; a pack
	// that does was cut by somebody else, and its blocks are found damaged when
	// they are read.
	w.end = known.end
	w.pending = w.scanBlocks(min(known.end, st.Size))
	if err := w.f.Truncate(w.end); err != nil {
		return false, err
	}
	w.fresh = true
	if len(w.pending) == 0 {
		return true, nil
	}
	if err := w.flushPack(); err != nil {
		return false, err
	}
	return true, w.noteRecords(w.pending)
}

// scanBlocks reads the blocks from off on, moves the end behind the last sound one and
// returns the records of those that are.
func (w *packWriter) scanBlocks(off int64) []byte {
	records, end := scanPack(w.f, off)
	w.end = max(w.end, end)
	return records
}

// scanPack gives the records of the sound blocks of a pack from off on, and
// where the last of them ends. A damaged one among them is passed over.
func scanPack(f *os.File, off int64) (records []byte, end int64) {
	var buf []byte
	r := bufio.NewReaderSize(io.NewSectionReader(f, off, packMax+chunk.MaxEncodedBlock), 1<<20)
	for {
		b, used, err := chunk.ReadBlock(r, buf)
		buf = used
		switch {
		case err == nil:
			records = appendRecord(records, indexRecord(b, uint32(off)))
			end = off + int64(b.BlockSize())
		case !errors.Is(err, chunk.ErrBadBlock) || len(used) <= chunk.BlockHeader:
			return records, end // not even its beginning is sound
		}
		off += int64(len(used))
	}
}

// indexRecord is what the index says of b at offset off.
func indexRecord(b *chunk.Block, off uint32) record {
	r := record{kind: recordAdd, off: off, size: uint32(b.BlockSize()), ids: make([]chunk.Sum, b.Count)}
	for i := range r.ids {
		r.ids[i] = b.ChunkID(i)
	}
	return r
}

// hasRoom reports whether n more bytes fit.
func (w *packWriter) hasRoom(n int) bool { return w.end+int64(n) <= packMax }

// addBlocks writes blocks, encoded one after another in raw. If that fails the pack
// is as before.
func (w *packWriter) addBlocks(raw []byte, blocks []*chunk.Block) ([]record, error) {
	write := w.write
	if write == nil {
		write = (*os.File).WriteAt
	}
	if _, err := write(w.f, raw, w.end); err != nil {
		return nil, errors.Join(fmt.Errorf("writing a pack: %w", err), w.f.Truncate(w.end))
	}
	records := make([]record, len(blocks))
	for i, b := range blocks {
		records[i] = indexRecord(b, uint32(w.end))
		w.pending = appendRecord(w.pending, records[i])
		w.end += int64(b.BlockSize())
	}
	return records, nil
}

// flushPack brings the pack, and its name, to the disk.
func (w *packWriter) flushPack() error {
	if err := unix.Fdatasync(int(w.f.Fd())); err != nil {
		return fmt.Errorf("making a pack durable: %w", err)
	}
	if w.fresh {
		if err := syncDir(w.dir); err != nil {
			return err
		}
		w.fresh = false
	}
	return nil
}

// noteRecords adds the first of the pending records to the index.
func (w *packWriter) noteRecords(records []byte) error {
	if err := appendIndex(indexPath(w.dir, w.name), records); err != nil {
		return err
	}
	w.pending = w.pending[len(records):]
	return nil
}

// sealPack ends the pack: nobody adds to it from now on. It must be synced.
func (w *packWriter) sealPack() error {
	err := appendIndex(indexPath(w.dir, w.name), appendRecord(nil, record{kind: recordEnd}))
	return errors.Join(err, w.f.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("making a folder durable: %w", err)
	}
	defer d.Close() //nolint:errcheck // only read
	if err := d.Sync(); err != nil {
		return fmt.Errorf("making a folder durable: %w", err)
	}
	return nil
}
