package chunk

import (
	"context"
	"fmt"
)

// BlockSink is a Sink that takes many chunks at once.
type BlockSink interface {
	// MissingSums gives the positions of those ids that are not there.
	MissingSums(ctx context.Context, ids []Sum) ([]int, error)
	// PutBlocks adds blocks; raw is all of them, one after another.
	PutBlocks(ctx context.Context, raw []byte, blocks []*Block) error
}

// BlockSinkOf makes a BlockSink of to unless it is one.
func BlockSinkOf(to Sink) BlockSink {
	if b, ok := to.(BlockSink); ok {
		return b
	}
	return plainSink{to}
}

// plainSink makes a BlockSink of any Sink.
type plainSink struct{ Sink }

// MissingSums is for BlockSink.
func (s plainSink) MissingSums(ctx context.Context, ids []Sum) ([]int, error) {
	names := make([]ID, len(ids))
	at := make(map[ID][]int, len(ids))
	for i, id := range ids {
		names[i] = id.ToID()
		at[names[i]] = append(at[names[i]], i)
	}
	missing, err := s.MissingChunks(ctx, names)
	if err != nil {
		return nil, err
	}
	var gone []int
	for _, id := range missing {
		gone = append(gone, at[id]...)
		delete(at, id)
	}
	return gone, nil
}

// PutBlocks is for BlockSink.
func (s plainSink) PutBlocks(ctx context.Context, _ []byte, blocks []*Block) error {
	for _, b := range blocks {
		if _, err := b.EachChunk(nil, func(_ int, id Sum, plain []byte) error {
			return s.PutChunk(ctx, id.ToID(), plain)
		}); err != nil {
			return err
		}
	}
	return nil
}

// What a worker collects before it asks the depot what is missing.
const (
	batchBytes  = 4 << 20
	batchChunks = 2048
)

// Batch collects the chunks that one worker cuts, asks which of them are
// missing, and sends those.
type Batch struct {
	to     BlockSink
	first  func(id Sum) bool             // whether a chunk comes for the first time
	sent   func(bytes int64, chunks int) // is told what was sent; nil: nobody asks
	ids    []Sum
	ends   []int
	plain  []byte // of all, one after another
	chunks []Content
	raw    []byte
	buf    []byte
}

// NewBatch makes the batch of one worker. first says whether a chunk comes for the first
// time; sent, which may be nil, is told what was sent.
func NewBatch(to BlockSink, first func(id Sum) bool, sent func(bytes int64, chunks int)) *Batch {
	return &Batch{to: to, first: first, sent: sent}
}

// AddChunk takes a chunk, whose bytes it copies.
func (b *Batch) AddChunk(ctx context.Context, id Sum, plain []byte) error {
	if !b.first(id) {
		return nil
	}
	if len(b.plain)+len(plain) > batchBytes && len(b.ids) > 0 {
		if err := b.FlushMissing(ctx); err != nil {
			return err
		}
	}
	b.ids = append(b.ids, id)
	b.plain = append(b.plain, plain...)
	b.ends = append(b.ends, len(b.plain))
	if len(b.ids) == batchChunks {
		return b.FlushMissing(ctx)
	}
	return nil
}

// FlushMissing sends what is missing of what was added.
func (b *Batch) FlushMissing(ctx context.Context) error {
	if len(b.ids) == 0 {
		return nil
	}
	missing, err := b.to.MissingSums(ctx, b.ids)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		err = b.sendBlocks(ctx, missing)
	}
	b.ids, b.ends, b.plain = b.ids[:0], b.ends[:0], b.plain[:0]
	return err
}

// sendBlocks sends the chunks at the positions given, neighbours together in blocks.
func (b *Batch) sendBlocks(ctx context.Context, which []int) error {
	b.raw = b.raw[:0]
	var ends []int
	for len(which) > 0 {
		b.chunks = b.chunks[:0]
		size := 0
		for len(which) > 0 && len(b.chunks) < MaxBlockChunks {
			c := b.chunkAt(which[0])
			if size > 0 && size+len(c.Plain) > MaxBlock {
				break
			}
			size += len(c.Plain)
			b.chunks = append(b.chunks, c)
			which = which[1:]
		}
		if len(b.chunks) > 1 && cap(b.buf) < size {
			b.buf = make([]byte, 0, MaxBlock)
		}
		b.raw = EncodeBlock(b.raw, b.chunks, b.buf)
		ends = append(ends, len(b.raw))
	}
	blocks := make([]*Block, len(ends))
	from, chunks := 0, 0
	for i, to := range ends {
		var err error
		if blocks[i], err = ParseBlock(b.raw[from:to:to]); err != nil {
			return fmt.Errorf("encoding a block: %w", err)
		}
		chunks += blocks[i].Count
		from = to
	}
	if err := b.to.PutBlocks(ctx, b.raw, blocks); err != nil {
		return err
	}
	if b.sent != nil {
		b.sent(int64(len(b.raw)), chunks)
	}
	return nil
}

func (b *Batch) chunkAt(i int) Content {
	from := 0
	if i > 0 {
		from = b.ends[i-1]
	}
	return Content{b.ids[i], b.plain[from:b.ends[i]]}
}
