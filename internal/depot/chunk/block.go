package chunk

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
	BlockMagic      = "gwB1"    // what every block begins with
	BlockHeader     = 20        // bytes before the list of chunks
	blockEntry      = 36        // bytes of the list for each chunk
	MaxBlockChunks  = 1024      // chunks of one block
	MaxBlock        = 128 << 10 // plain bytes that are put together
	MaxEncodedBlock = BlockHeader + MaxBlockChunks*blockEntry + MaxChunk
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrBadBlock is what a block that is not what it should be is called.
var ErrBadBlock = errors.New("bad block")

// Content is a chunk with its content.
type Content struct {
	ID    Sum
	Plain []byte
}

// EncodeBlock appends the block of chunks to dst. Together they are at most
// MaxChunk bytes, and at most MaxBlockChunks.
func EncodeBlock(dst []byte, chunks []Content, plainBuf []byte) []byte {
	from := len(dst)
	dst = append(dst, BlockMagic...)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(chunks)))
	dst = append(dst, make([]byte, BlockHeader-6)...)
	plain := plainBuf[:0]
	for _, c := range chunks {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(c.Plain)))
		dst = append(dst, c.ID[:]...)
		if len(chunks) > 1 {
			plain = append(plain, c.Plain...)
		}
	}
	if len(chunks) == 1 {
		plain = chunks[0].Plain
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
	Count, PlainSize, stored int
	how                      codec
}

// BlockSize is the number of bytes of the whole block.
func (h head) BlockSize() int { return BlockHeader + h.Count*blockEntry + h.stored }

// parseHead reads the first BlockHeader bytes of a block.
func parseHead(b []byte) (head, error) {
	if len(b) < BlockHeader || string(b[:4]) != BlockMagic {
		return head{}, fmt.Errorf("%w: it does not begin like one", ErrBadBlock)
	}
	h := head{
		Count:     int(binary.LittleEndian.Uint16(b[4:])),
		how:       codec(b[6]),
		PlainSize: int(binary.LittleEndian.Uint32(b[8:])),
		stored:    int(binary.LittleEndian.Uint32(b[12:])),
	}
	if h.Count == 0 || h.Count > MaxBlockChunks || h.PlainSize > MaxChunk || h.stored > h.PlainSize || b[7] != 0 {
		return head{}, fmt.Errorf("%w: %d chunks, %d bytes kept in %d", ErrBadBlock, h.Count, h.PlainSize, h.stored)
	}
	return h, nil
}

// Block is an encoded block whose form and CRC are right. Its bytes are not
// copied.
type Block struct {
	head
	Raw []byte
}

// ParseBlock reads a block that is exactly raw.
func ParseBlock(raw []byte) (*Block, error) {
	h, err := parseHead(raw)
	if err != nil {
		return nil, err
	}
	if len(raw) != h.BlockSize() {
		return nil, fmt.Errorf("%w: %d bytes where %d should be", ErrBadBlock, len(raw), h.BlockSize())
	}
	b := &Block{head: h, Raw: raw}
	total := 0
	for i := range h.Count {
		total += b.ChunkSize(i)
	}
	if total != h.PlainSize {
		return nil, fmt.Errorf("%w: chunks of %d bytes in a block of %d", ErrBadBlock, total, h.PlainSize)
	}
	if blockCRC(raw) != binary.LittleEndian.Uint32(raw[16:]) {
		return nil, fmt.Errorf("%w: wrong checksum", ErrBadBlock)
	}
	return b, nil
}

// ChunkID names the chunk at position i.
func (b *Block) ChunkID(i int) Sum {
	at := BlockHeader + i*blockEntry + 4
	return Sum(b.Raw[at : at+32])
}

// ChunkSize is the number of plain bytes of the chunk at position i.
func (b *Block) ChunkSize(i int) int {
	return int(binary.LittleEndian.Uint32(b.Raw[BlockHeader+i*blockEntry:]))
}

// EachChunk expands the block and calls f for its chunks, unverified. The bytes are
// f's only until it returns if buf is used again; each returns the buffer.
func (b *Block) EachChunk(buf []byte, f func(i int, id Sum, plain []byte) error) ([]byte, error) {
	plain, err := expandPayload(b.Raw[BlockHeader+b.Count*blockEntry:], b.how, b.PlainSize, buf)
	if err != nil {
		return buf, fmt.Errorf("%w: %w", ErrBadBlock, err)
	}
	if b.how != codecPlain {
		buf = plain
	}
	for i := range b.Count {
		n := b.ChunkSize(i)
		if err := f(i, b.ChunkID(i), plain[:n:n]); err != nil {
			return buf, err
		}
		plain = plain[n:]
	}
	return buf, nil
}

// VerifyChunks checks the content of every chunk against its ID.
func (b *Block) VerifyChunks(buf []byte) ([]byte, error) {
	return b.EachChunk(buf, func(_ int, id Sum, plain []byte) error {
		if SumOf(plain) != id {
			return fmt.Errorf("%w: the content of %s is not what its ID says", ErrBadBlock, id.ToID())
		}
		return nil
	})
}

// ReadBlock reads the next block from r into buf, which may grow. At the end
// of r it returns io.EOF; a block that is cut short is io.ErrUnexpectedEOF.
func ReadBlock(r io.Reader, buf []byte) (*Block, []byte, error) {
	if cap(buf) < BlockHeader {
		buf = make([]byte, 0, MaxBlock)
	}
	buf = buf[:BlockHeader]
	if _, err := io.ReadFull(r, buf); err != nil {
		return nil, buf, err
	}
	h, err := parseHead(buf)
	if err != nil {
		return nil, buf, err
	}
	if cap(buf) < h.BlockSize() {
		buf = append(make([]byte, 0, h.BlockSize()), buf...)
	}
	buf = buf[:h.BlockSize()]
	if _, err := io.ReadFull(r, buf[BlockHeader:]); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, buf, err
	}
	b, err := ParseBlock(buf)
	return b, buf, err
}

// EncodeChunk makes a block of one chunk that somebody else named.
func EncodeChunk(id ID, plain []byte) ([]byte, *Block, error) {
	want, err := ParseID(id)
	if err != nil {
		return nil, nil, err
	}
	if len(plain) > MaxChunk {
		return nil, nil, fmt.Errorf("a chunk of %d bytes; the depot takes at most %d", len(plain), MaxChunk)
	}
	if SumOf(plain) != want {
		return nil, nil, fmt.Errorf("%w: the content of %s is not what its ID says", ErrDamaged, id)
	}
	raw := EncodeBlock(nil, []Content{{ID: want, Plain: plain}}, nil)
	b, err := ParseBlock(raw)
	return raw, b, err
}
