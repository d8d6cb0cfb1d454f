package depot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A block is the unit in which chunks are kept and sent: one chunk, or several
// that came after one another and are compressed together, because pages of
// memory and small files are too small to compress well alone. On disk and on
// the wire it looks the same:
//
//	0  "gwB1"
//	4  number of chunks, uint16
//	6  codec, byte; then a zero byte
//	8  plain size of all chunks, uint32
//	12 size of the payload, uint32
//	16 CRC-32C of all of the block but these four bytes, uint32
//	20 for every chunk: its plain size, uint32, and its ID, 32 bytes
//	.. the payload
//
// Numbers are little-endian. The CRC finds what disks and cuts do, cheaply
// enough to be checked on every passing through; the IDs are checked where
// the content comes in and where it is used.
const (
	blockMagic  = "gwB1"
	blockHeader = 20
	blockEntry  = 36
	maxCount    = 1024
	maxBlock    = 128 << 10 // plain bytes that are put together
	maxEncoded  = blockHeader + maxCount*blockEntry + maxChunk
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errBadBlock is what a block that is not what it should be is called.
var errBadBlock = errors.New("bad block")

// chunk is a chunk with its content.
type chunk struct {
	id    sum
	plain []byte
}

// encodeBlock appends the block of chunks to dst. Together they are at most
// maxChunk bytes, and at most maxCount.
func encodeBlock(dst []byte, chunks []chunk, plainBuf []byte) []byte {
	from := len(dst)
	dst = append(dst, blockMagic...)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(chunks)))
	dst = append(dst, make([]byte, blockHeader-6)...)
	plain := plainBuf[:0]
	for _, c := range chunks {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(c.plain)))
		dst = append(dst, c.id[:]...)
		if len(chunks) > 1 {
			plain = append(plain, c.plain...)
		}
	}
	if len(chunks) == 1 {
		plain = chunks[0].plain
	}
	start := len(dst)
	dst, how := compressPlain(dst, plain)
	b := dst[from:]
	b[6] = byte(how)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(plain)))
	binary.LittleEndian.PutUint32(b[12:], uint32(len(dst)-start))
	binary.LittleEndian.PutUint32(b[16:], blockCRC(b))
	return dst
}

func blockCRC(b []byte) uint32 {
	crc := crc32.Update(0, castagnoli, b[:16])
	return crc32.Update(crc, castagnoli, b[20:])
}

// head is the first part of a block.
type head struct {
	count, plain, stored int
	how                  codec
}

func (h head) blockSize() int { return blockHeader + h.count*blockEntry + h.stored }

// parseHead reads the first blockHeader bytes of a block.
func parseHead(b []byte) (head, error) {
	if len(b) < blockHeader || string(b[:4]) != blockMagic {
		return head{}, fmt.Errorf("%w: it does not begin like one", errBadBlock)
	}
	h := head{
		count:  int(binary.LittleEndian.Uint16(b[4:])),
		how:    codec(b[6]),
		plain:  int(binary.LittleEndian.Uint32(b[8:])),
		stored: int(binary.LittleEndian.Uint32(b[12:])),
	}
	if h.count == 0 || h.count > maxCount || h.plain > maxChunk || h.stored > h.plain || b[7] != 0 {
		return head{}, fmt.Errorf("%w: %d chunks, %d bytes kept in %d", errBadBlock, h.count, h.plain, h.stored)
	}
	return h, nil
}

// block is an encoded block whose form and CRC are right. Its bytes are not
// copied.
type block struct {
	head
	raw []byte
}

// parseBlock reads a block that is exactly raw.
func parseBlock(raw []byte) (*block, error) {
	h, err := parseHead(raw)
	if err != nil {
		return nil, err
	}
	if len(raw) != h.blockSize() {
		return nil, fmt.Errorf("%w: %d bytes where %d should be", errBadBlock, len(raw), h.blockSize())
	}
	b := &block{head: h, raw: raw}
	total := 0
	for i := range h.count {
		total += b.chunkSize(i)
	}
	if total != h.plain {
		return nil, fmt.Errorf("%w: chunks of %d bytes in a block of %d", errBadBlock, total, h.plain)
	}
	if blockCRC(raw) != binary.LittleEndian.Uint32(raw[16:]) {
		return nil, fmt.Errorf("%w: wrong checksum", errBadBlock)
	}
	return b, nil
}

func (b *block) chunkID(i int) sum {
	at := blockHeader + i*blockEntry + 4
	return sum(b.raw[at : at+32])
}

func (b *block) chunkSize(i int) int {
	return int(binary.LittleEndian.Uint32(b.raw[blockHeader+i*blockEntry:]))
}

// eachChunk expands the block and calls f for its chunks, unverified. The bytes are
// f's only until it returns if buf is used again; each returns the buffer.
func (b *block) eachChunk(buf []byte, f func(i int, id sum, plain []byte) error) ([]byte, error) {
	plain, err := expandPayload(b.raw[blockHeader+b.count*blockEntry:], b.how, b.plain, buf)
	if err != nil {
		return buf, fmt.Errorf("%w: %w", errBadBlock, err)
	}
	if b.how != codecPlain {
		buf = plain
	}
	for i := range b.count {
		n := b.chunkSize(i)
		if err := f(i, b.chunkID(i), plain[:n:n]); err != nil {
			return buf, err
		}
		plain = plain[n:]
	}
	return buf, nil
}

// verifyChunks checks the content of every chunk against its ID.
func (b *block) verifyChunks(buf []byte) ([]byte, error) {
	return b.eachChunk(buf, func(_ int, id sum, plain []byte) error {
		if sumOf(plain) != id {
			return fmt.Errorf("%w: the content of %s is not what its ID says", errBadBlock, id.toID())
		}
		return nil
	})
}

// readBlock reads the next block from r into buf, which may grow. At the end
// of r it returns io.EOF; a block that is cut short is io.ErrUnexpectedEOF.
func readBlock(r io.Reader, buf []byte) (*block, []byte, error) {
	if cap(buf) < blockHeader {
		buf = make([]byte, 0, maxBlock)
	}
	buf = buf[:blockHeader]
	if _, err := io.ReadFull(r, buf); err != nil {
		return nil, buf, err
	}
	h, err := parseHead(buf)
	if err != nil {
		return nil, buf, err
	}
	if cap(buf) < h.blockSize() {
		buf = append(make([]byte, 0, h.blockSize()), buf...)
	}
	buf = buf[:h.blockSize()]
	if _, err := io.ReadFull(r, buf[blockHeader:]); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, buf, err
	}
	b, err := parseBlock(buf)
	return b, buf, err
}
