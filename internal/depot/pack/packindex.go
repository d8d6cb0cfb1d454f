package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"golang.org/x/sys/unix"
)

// Beside every pack lies its index, a list of records. A block is named in it
// only after the pack was made durable up to the block's end, so that whatever
// an index names was safe once; what a pack holds beyond was never promised and
// is read and checked by whoever next writes. A record is
//
//	0  kind, 4 bytes
//	4  offset of the block in the pack, uint32
//	8  its size, uint32
//	12 number of chunks, uint16, and two zero bytes
//	16 CRC-32C of the record but these four bytes, uint32
//	20 the IDs of the chunks
const (
	recordAdd  = "gwI1" // the block is there
	recordDead = "gwD1" // the block at this offset is damaged: it does not count
	recordEnd  = "gwE1" // nothing is added to the pack any more

	recordHeader = 20
)

// record is one record of a pack's index.
type record struct {
	kind string
	off  uint32
	size uint32
	ids  []chunk.Sum
}

func appendRecord(dst []byte, r record) []byte {
	from := len(dst)
	dst = append(dst, r.kind...)
	dst = binary.LittleEndian.AppendUint32(dst, r.off)
	dst = binary.LittleEndian.AppendUint32(dst, r.size)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(r.ids)))
	dst = append(dst, make([]byte, 6)...)
	for _, id := range r.ids {
		dst = append(dst, id[:]...)
	}
	binary.LittleEndian.PutUint32(dst[from+16:], recordCRC(dst[from:]))
	return dst
}

// indexTable is that of CRC-32C, which records of an index end with.
var indexTable = crc32.MakeTable(crc32.Castagnoli)

func recordCRC(b []byte) uint32 {
	crc := crc32.Update(0, indexTable, b[:16])
	return crc32.Update(crc, indexTable, b[20:])
}

// parseRecord reads the first record of b and says how long it is; 0 when
// there is no whole and sound one.
func parseRecord(b []byte) (record, int) {
	if len(b) < recordHeader {
		return record{}, 0
	}
	r := record{
		kind: string(b[:4]),
		off:  binary.LittleEndian.Uint32(b[4:]),
		size: binary.LittleEndian.Uint32(b[8:]),
	}
	count := int(binary.LittleEndian.Uint16(b[12:]))
	n := recordHeader + 32*count
	if count > chunk.MaxBlockChunks || len(b) < n || recordCRC(b[:n]) != binary.LittleEndian.Uint32(b[16:]) {
		return record{}, 0
	}
	switch r.kind {
	case recordAdd:
		if r.size < chunk.BlockHeader || r.size > chunk.MaxEncodedBlock {
			return record{}, 0
		}
	case recordDead, recordEnd:
	default:
		return record{}, 0
	}
	r.ids = make([]chunk.Sum, count)
	for i := range r.ids {
		r.ids[i] = chunk.Sum(b[recordHeader+32*i:])
	}
	return r, n
}

// summary is what an index says in the end.
type summary struct {
	blocks []record // those that count
	dead   map[uint32]bool
	sealed bool
	end    int64 // of the last block named
	good   int64 // bytes of the index that are sound
}

// parseIndex reads the index of a pack as far as it is sound.
func parseIndex(b []byte) summary {
	s := summary{end: packHeader, dead: map[uint32]bool{}}
	var all []record
	for {
		r, n := parseRecord(b[s.good:])
		if n == 0 {
			break
		}
		s.good += int64(n)
		switch r.kind {
		case recordAdd:
			all = append(all, r)
			s.end = max(s.end, int64(r.off)+int64(r.size))
		case recordDead:
			s.dead[r.off] = true
		case recordEnd:
			s.sealed = true
		}
	}
	for _, r := range all {
		if !s.dead[r.off] {
			s.blocks = append(s.blocks, r)
		}
	}
	return s
}

// readIndex reads the index at path; one that is not there is empty.
func readIndex(path string) (summary, error) {
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return summary{}, fmt.Errorf("reading the index of a pack: %w", err)
	}
	return parseIndex(b), nil
}

// appendIndex adds records to the index at path, all of them or none. More
// than one process may do so.
func appendIndex(path string, records []byte) error {
	f, err := openIndex(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // a write that failed was told by Write
	return addRecords(f, records)
}

// openIndex opens an index, and nobody else writes to it until it is closed.
func openIndex(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("writing the index of a pack: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("writing the index of a pack: %w", err), f.Close())
	}
	return f, nil
}

func addRecords(f *os.File, records []byte) error {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("writing the index of a pack: %w", err)
	}
	if _, err := f.Write(records); err != nil {
		return errors.Join(fmt.Errorf("writing the index of a pack: %w", err), f.Truncate(end))
	}
	return nil
}

// markDead says in the index of a pack that the block at off does not count. If
// the index is damaged itself, so that nobody would read that far, it is made
// anew from there on.
func markDead(dir string, n packName, off uint32) error {
	f, err := openIndex(indexPath(dir, n))
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // a write that failed was told by Write
	b, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("reading the index of a pack: %w", err)
	}
	var records []byte
	if said := parseIndex(b); said.good < int64(len(b)) {
		pack, err := os.Open(packPath(dir, n))
		if err != nil {
			return fmt.Errorf("reading a pack: %w", err)
		}
		defer pack.Close() //nolint:errcheck // only read
		records, _ = scanPack(pack, said.end)
		if err := errors.Join(unix.Fdatasync(int(pack.Fd())), f.Truncate(said.good)); err != nil {
			return fmt.Errorf("mending the index of a pack: %w", err)
		}
	}
	return addRecords(f, appendRecord(records, record{kind: recordDead, off: off}))
}
