package pack

import (
	"bytes"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
)

// moveBytes is how much a mover collects before it writes.
const moveBytes = 4 << 20

// mover writes blocks, or the chunks of them that live, to the pack that is
// open for writing.
type mover struct {
	w      *sweeper
	raw    []byte
	ends   []int
	used   []bool        // by a push, which must hear nothing of the move
	at     time.Duration // when the last of these was
	chunks []chunk.Content
	size   int // plain bytes of chunks
	buf    []byte
	moved  int64
}

// addWhole takes a block of which everything lives.
func (m *mover) addWhole(b *chunk.Block, k keptBlock) error {
	m.raw = append(m.raw, b.Raw...)
	m.at = max(m.at, k.at)
	return m.countAdded(k.used)
}

func (m *mover) countAdded(used bool) error {
	m.ends = append(m.ends, len(m.raw))
	m.used = append(m.used, used)
	if len(m.raw) >= moveBytes {
		return m.writeBlocks()
	}
	return nil
}

// addLiving takes those chunks of a block that live, to be put into blocks with
// others.
func (m *mover) addLiving(b *chunk.Block) error {
	var err error
	m.buf, err = b.EachChunk(m.buf, func(_ int, id chunk.Sum, plain []byte) error {
		if !m.w.live[id.FirstHalf()] || chunk.SumOf(plain) != id {
			return nil
		}
		if m.size > 0 && (m.size+len(plain) > chunk.MaxBlock || len(m.chunks) == chunk.MaxBlockChunks) {
			if err := m.encodeChunks(); err != nil {
				return err
			}
		}
		m.chunks = append(m.chunks, chunk.Content{ID: id, Plain: bytes.Clone(plain)})
		m.size += len(plain)
		return nil
	})
	return err
}

// encodeChunks makes a block of the chunks taken so far.
func (m *mover) encodeChunks() error {
	if len(m.chunks) == 0 {
		return nil
	}
	m.raw = chunk.EncodeBlock(m.raw, m.chunks, nil)
	m.chunks, m.size = m.chunks[:0], 0
	return m.countAdded(false)
}

// writeBlocks writes the blocks taken so far.
func (m *mover) writeBlocks() error {
	if len(m.ends) == 0 {
		return nil
	}
	blocks := make([]*chunk.Block, len(m.ends))
	from := 0
	for i, to := range m.ends {
		var err error
		if blocks[i], err = chunk.ParseBlock(m.raw[from:to:to]); err != nil {
			return err
		}
		from = to
	}
	records, name, err := m.w.s.appendBlocks(m.raw, blocks, true)
	if err != nil {
		return err
	}
	var again []touchedBlock
	for i, r := range records {
		if m.used[i] {
			again = append(again, touchedBlock{name, r.off})
		}
	}
	m.moved += int64(len(m.raw))
	m.raw, m.ends, m.used = m.raw[:0], m.ends[:0], m.used[:0]
	return m.w.s.touch.touchAt(again, m.at)
}

func (m *mover) flushBlocks() error {
	if err := m.encodeChunks(); err != nil {
		return err
	}
	return m.writeBlocks()
}
