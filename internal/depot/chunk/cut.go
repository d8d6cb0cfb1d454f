package chunk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	chunkers "github.com/PlakarKorp/go-cdc-chunkers"
	_ "github.com/PlakarKorp/go-cdc-chunkers/chunkers/jc" // the algorithm named below
)

// How files are cut, and why, is in docs/decisions/0009-depot-chunks.md. In
// short: a file of whole pages of at least pagedFrom bytes is taken for an image
// of memory or a database, and cut at pages; any other file where its content
// says so, whatever was inserted before. Runs of zeros are chunks of their own.
// The same content is cut the same way whoever cuts it, in however many pieces
// at once: pieces begin at fixed places.
const (
	pageSize    = 4096
	pagedFrom   = 1 << 20
	pagedChunks = 1 << 19 // more than this many pages make larger chunks

	pieceOfPages = 4 << 20
	pieceOfBytes = 64 << 20

	cutBuffer = 256 << 10 // whole pages

	zeroRun = 4 * pageSize // least run of zero pages that is a chunk of its own
)

// Plan is how a file of a size is cut.
type Plan struct {
	pages     int   // expected number of pages in a chunk; 0: at bytes
	PieceSize int64 // what one worker cuts at a time
}

// ContentPlan cuts where the content says so.
func ContentPlan() Plan { return Plan{PieceSize: pieceOfBytes} }

// PlanFor is how a file of the size is cut.
func PlanFor(size int64) Plan {
	if size < pagedFrom || size%pageSize != 0 {
		return ContentPlan()
	}
	p := Plan{pages: 1, PieceSize: pieceOfPages}
	for size/pageSize/int64(p.pages) > pagedChunks {
		p.pages *= 2
	}
	return p
}

// PieceCount is the number of pieces of a file of the size.
func (p Plan) PieceCount(size int64) int { return int((size + p.PieceSize - 1) / p.PieceSize) }

// Cutter cuts pieces of files. It holds buffers, so a worker keeps one.
type Cutter struct {
	Pages *PageLookup // of the file being cut; nil: nothing is known
	buf   []byte
	jc    *chunkers.Chunker
	runs  runReader
}

// CutPiece cuts the piece of n bytes at off of a file. It calls emit for every chunk;
// the bytes are emit's until it returns, and nil for a run of zeros. It returns
// io.ErrUnexpectedEOF if the file ends early.
func (c *Cutter) CutPiece(f io.ReaderAt, p Plan, off, n int64, holes *HoleMap,
	emit func(id Sum, plain []byte) error) error {
	if len(c.buf) < cutBuffer && n > jcMin {
		c.buf = make([]byte, cutBuffer)
	} else if c.buf == nil {
		c.buf = make([]byte, jcMin)
	}
	if p.pages > 0 {
		return c.cutPages(f, p, off, n, holes, emit)
	}
	return c.cutBytes(f, off, n, holes, emit)
}

// cutBytes cuts where the content says so.
func (c *Cutter) cutBytes(f io.ReaderAt, off, n int64, holes *HoleMap, emit func(Sum, []byte) error) error {
	if n <= jcMin {
		return c.cutSmall(f, off, n, holes, emit)
	}
	c.runs.resetTo(f, off, n, holes, c.buf)
	for {
		zero, more, err := c.runs.nextZeros()
		if err != nil {
			return err
		}
		if zero > 0 {
			if err := emit(ZerosID(zero), nil); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
		if err := c.cutRun(emit); err != nil {
			return err
		}
	}
}

const (
	jcMin    = 16 << 10
	jcNormal = 64 << 10
	jcMax    = 256 << 10
)

// cutRun cuts the bytes up to the next run of zeros.
func (c *Cutter) cutRun(emit func(Sum, []byte) error) error {
	if c.jc == nil {
		jc, err := chunkers.NewChunker("jc-v1.0.0", &c.runs,
			&chunkers.ChunkerOpts{MinSize: jcMin, NormalSize: jcNormal, MaxSize: jcMax})
		if err != nil {
			return fmt.Errorf("preparing to cut: %w", err)
		}
		c.jc = jc
	} else {
		c.jc.Reset(&c.runs)
	}
	for {
		b, err := c.jc.Next()
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return err
		}
		if len(b) > 0 {
			if err := emit(SumOf(b), b); err != nil {
				return err
			}
		}
		if end {
			return nil
		}
	}
}

// cutSmall makes one chunk of few bytes: most files are small.
func (c *Cutter) cutSmall(f io.ReaderAt, off, n int64, holes *HoleMap, emit func(Sum, []byte) error) error {
	if n == 0 {
		return nil
	}
	b := c.buf[:n]
	if err := holes.readAt(f, b, off); err != nil {
		return err
	}
	if n >= zeroRun && allZero(b) {
		return emit(ZerosID(n), nil)
	}
	return emit(SumOf(b), b)
}

// cutPages cuts between pages: at every one, or, in large files, at those
// whose content says so.
func (c *Cutter) cutPages(f io.ReaderAt, p Plan, off, n int64, holes *HoleMap, emit func(Sum, []byte) error) error {
	buf := c.buf
	most := min(4*p.pages*pageSize, len(buf))
	var zero int64
	have := 0 // bytes at the front of buf that are not emitted yet
	for end := off + n; off < end || have > 0; {
		if have == 0 {
			// A whole buffer of holes need not be read.
			if skip := holes.zeroUntil(off, end) / pageSize * pageSize; skip > off {
				zero, off = zero+skip-off, skip
				continue
			}
		}
		fill := min(int64(len(buf)-have), end-off)
		if err := holes.readAt(f, buf[have:have+int(fill)], off); err != nil {
			return err
		}
		off += fill
		have += int(fill)
		used := 0
		for b := buf[:have]; len(b) > 0; {
			k, isZero := pageCut(b, p.pages, most, off < end)
			if k == 0 {
				break // the chunk may go on in what was not read yet
			}
			switch {
			case isZero:
				zero += int64(k)
			default:
				if err := emitZeros(&zero, emit); err != nil {
					return err
				}
				id := c.Pages.pageID(off-int64(len(b)), b[:k])
				if err := emit(id, b[:k]); err != nil {
					return err
				}
			}
			b = b[k:]
			used += k
		}
		have = copy(buf, buf[used:have])
	}
	return emitZeros(&zero, emit)
}

func emitZeros(n *int64, emit func(Sum, []byte) error) error {
	if *n == 0 {
		return nil
	}
	id := ZerosID(*n)
	*n = 0
	return emit(id, nil)
}

// pageCut says how many bytes at the front of b, which is whole pages, are the
// next chunk, and whether they are all zero. 0: that depends on what comes
// after b.
func pageCut(b []byte, expected, most int, more bool) (n int, zero bool) {
	if allZero(b[:pageSize]) {
		return pageSize, true
	}
	if expected == 1 {
		return pageSize, false
	}
	for n = pageSize; ; n += pageSize {
		if n >= most || pageHash(b[n-pageSize:n])%uint64(expected) == 0 {
			return n, false
		}
		if n == len(b) {
			if more {
				return 0, false
			}
			return n, false
		}
		if allZero(b[n : n+pageSize]) {
			return n, false
		}
	}
}

// pageHash is a cheap hash of a page, from a few of its words.
func pageHash(p []byte) uint64 {
	h := uint64(0x9E3779B97F4A7C15)
	for i := 0; i < pageSize; i += 256 {
		h = (h ^ binary.LittleEndian.Uint64(p[i:])) * 0xBF58476D1CE4E5B9
		h ^= h >> 29
	}
	return h >> 7
}

// allZero reports whether b, whose length is a multiple of 8, or short, is all
// zero.
func allZero(b []byte) bool {
	for len(b) >= 32 {
		if binary.LittleEndian.Uint64(b)|binary.LittleEndian.Uint64(b[8:])|
			binary.LittleEndian.Uint64(b[16:])|binary.LittleEndian.Uint64(b[24:]) != 0 {
			return false
		}
		b = b[32:]
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// JoinPieces joins runs of zeros that were cut only because a piece ended.
func JoinPieces(list, more []Sum) []Sum {
	if len(list) > 0 && len(more) > 0 {
		a, zeroA := list[len(list)-1].IsZeros()
		b, zeroB := more[0].IsZeros()
		if zeroA && zeroB {
			list[len(list)-1] = ZerosID(a + b)
			more = more[1:]
		}
	}
	return append(list, more...)
}
