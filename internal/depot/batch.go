package depot

import (
	"context"
	"fmt"
)

// blockSink is a Sink that takes many chunks at once.
type blockSink interface {
	// missingSums gives the positions of those ids that are not there.
	missingSums(ctx context.Context, ids []sum) ([]int, error)
	// putBlocks adds blocks; raw is all of them, one after another.
	putBlocks(ctx context.Context, raw []byte, blocks []*block) error
}

func blockSinkOf(to Sink) blockSink {
	if b, ok := to.(blockSink); ok {
		return b
	}
	return plainSink{to}
}

// plainSink makes a blockSink of any Sink.
type plainSink struct{ Sink }

func (s plainSink) missingSums(ctx context.Context, ids []sum) ([]int, error) {
	names := make([]ID, len(ids))
	at := make(map[ID][]int, len(ids))
	for i, id := range ids {
		names[i] = id.toID()
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

func (s plainSink) putBlocks(ctx context.Context, _ []byte, blocks []*block) error {
	for _, b := range blocks {
		if _, err := b.eachChunk(nil, func(_ int, id sum, plain []byte) error {
			return s.PutChunk(ctx, id.toID(), plain)
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

// batch collects the chunks that one worker cuts, asks which of them are
// missing, and sends those.
type batch struct {
	to     blockSink
	first  func(id sum) bool             // whether a chunk comes for the first time
	sent   func(bytes int64, chunks int) // is told what was sent; nil: nobody asks
	ids    []sum
	ends   []int
	plain  []byte // of all, one after another
	chunks []chunk
	raw    []byte
	buf    []byte
}

// newBatch makes the batch of one worker. first says whether a chunk comes for the first
// time; sent, which may be nil, is told what was sent.
func newBatch(to blockSink, first func(id sum) bool, sent func(bytes int64, chunks int)) *batch {
	return &batch{to: to, first: first, sent: sent}
}

// addChunk takes a chunk, whose bytes it copies.
func (b *batch) addChunk(ctx context.Context, id sum, plain []byte) error {
	if !b.first(id) {
		return nil
	}
	if len(b.plain)+len(plain) > batchBytes && len(b.ids) > 0 {
		if err := b.flushMissing(ctx); err != nil {
			return err
		}
	}
	b.ids = append(b.ids, id)
	b.plain = append(b.plain, plain...)
	b.ends = append(b.ends, len(b.plain))
	if len(b.ids) == batchChunks {
		return b.flushMissing(ctx)
	}
	return nil
}

// flushMissing sends what is missing of what was added.
func (b *batch) flushMissing(ctx context.Context) error {
	if len(b.ids) == 0 {
		return nil
	}
	missing, err := b.to.missingSums(ctx, b.ids)
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
func (b *batch) sendBlocks(ctx context.Context, which []int) error {
	b.raw = b.raw[:0]
	var ends []int
	for len(which) > 0 {
		b.chunks = b.chunks[:0]
		size := 0
		for len(which) > 0 && len(b.chunks) < maxCount {
			c := b.chunkAt(which[0])
			if size > 0 && size+len(c.plain) > maxBlock {
				break
			}
			size += len(c.plain)
			b.chunks = append(b.chunks, c)
			which = which[1:]
		}
		if len(b.chunks) > 1 && cap(b.buf) < size {
			b.buf = make([]byte, 0, maxBlock)
		}
		b.raw = encodeBlock(b.raw, b.chunks, b.buf)
		ends = append(ends, len(b.raw))
	}
	blocks := make([]*block, len(ends))
	from, chunks := 0, 0
	for i, to := range ends {
		var err error
		if blocks[i], err = parseBlock(b.raw[from:to:to]); err != nil {
			return fmt.Errorf("encoding a block: %w", err)
		}
		chunks += blocks[i].count
		from = to
	}
	if err := b.to.putBlocks(ctx, b.raw, blocks); err != nil {
		return err
	}
	if b.sent != nil {
		b.sent(int64(len(b.raw)), chunks)
	}
	return nil
}

func (b *batch) chunkAt(i int) chunk {
	from := 0
	if i > 0 {
		from = b.ends[i-1]
	}
	return chunk{b.ids[i], b.plain[from:b.ends[i]]}
}
