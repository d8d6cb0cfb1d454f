package chunk

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// codec says how the payload of a block is kept.
type codec byte

const (
	codecPlain codec = 0
	codecZstd  codec = 1
)

// The encoder and the decoder are safe for use by many goroutines, and hold
// memory only for as many as use them at once.
var (
	// BlockEncoder compresses blocks, and patches of trees.
	BlockEncoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(MaxBlock),
			zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
		if err != nil {
			panic(fmt.Sprintf("depot: options of the encoder: %v", err)) // constants, so a bug
		}
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(MaxChunk))
		if err != nil {
			panic(fmt.Sprintf("depot: options of the decoder: %v", err))
		}
		return d
	})
)

// compressPlain appends plain to dst, compressed if that makes it clearly smaller:
// what shrinks by less than a thirty-second is not worth the time of reading it
// back.
func compressPlain(dst, plain []byte) ([]byte, codec) {
	from := len(dst)
	dst = BlockEncoder().EncodeAll(plain, dst)
	if len(dst)-from > len(plain)-len(plain)/32-1 {
		return append(dst[:from], plain...), codecPlain
	}
	return dst, codecZstd
}

// expandPayload gives back the size plain bytes of a payload; buf may be used for
// them.
func expandPayload(payload []byte, how codec, size int, buf []byte) ([]byte, error) {
	switch how {
	case codecPlain:
		if len(payload) != size {
			return nil, fmt.Errorf("%d bytes where %d should be", len(payload), size)
		}
		return payload, nil
	case codecZstd:
		if cap(buf) < size {
			buf = make([]byte, 0, size)
		}
		plain, err := decoder().DecodeAll(payload, buf[:0])
		if err != nil {
			return nil, fmt.Errorf("decompressing: %w", err)
		}
		if len(plain) != size {
			return nil, fmt.Errorf("%d bytes where %d should be", len(plain), size)
		}
		return plain, nil
	}
	return nil, fmt.Errorf("kept in an unknown way (%d)", how)
}
