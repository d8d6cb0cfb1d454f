package chunk

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot/depottest"
)

// sampleBlocks are two blocks, one after another.
func sampleBlocks() []byte {
	raw := EncodeBlock(nil, []Content{{SumOf([]byte("one")), []byte("one")}, {SumOf(nil), nil}}, nil)
	text := depottest.LogText(1, 300)
	return EncodeBlock(raw, []Content{{SumOf(text), text}}, nil)
}

// mendChecksums puts the checksums of blocks right, so that what is behind them is
// fuzzed as well.
func mendChecksums(in []byte) []byte {
	in = bytes.Clone(in)
	for b := in; len(b) >= BlockHeader; {
		h, err := parseHead(b)
		if err != nil || h.BlockSize() > len(b) {
			break
		}
		binary.LittleEndian.PutUint32(b[16:], blockCRC(b[:h.BlockSize()]))
		b = b[h.BlockSize():]
	}
	return in
}

// Whatever a peer or a disk says, a block that is accepted holds what its IDs
// say, and reads back as it was.
func FuzzBlocks(f *testing.F) {
	raw := sampleBlocks()
	f.Add(raw)
	f.Add(raw[:30])
	f.Add(append([]byte(BlockMagic), make([]byte, 40)...))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := io.MultiReader(bytes.NewReader(mendChecksums(in)), bytes.NewReader(in))
		var buf []byte
		for {
			b, used, err := ReadBlock(r, buf)
			buf = used
			if err != nil {
				return
			}
			if again, err := ParseBlock(bytes.Clone(b.Raw)); err != nil || again.BlockSize() != b.BlockSize() {
				t.Fatalf("a block that was accepted is no block: %v", err)
			}
			if _, err := b.VerifyChunks(nil); err != nil {
				continue
			}
			total := 0
			if _, err := b.EachChunk(nil, func(_ int, id Sum, plain []byte) error {
				if SumOf(plain) != id {
					t.Errorf("verified, and yet the content of %s is wrong", id.ToID())
				}
				total += len(plain)
				return nil
			}); err != nil || total != b.PlainSize || total > MaxChunk {
				t.Errorf("%d bytes, %v", total, err)
			}
		}
	})
}

// Whatever the content, its chunks make it, and however it is cut the pieces
// agree.
func FuzzCut(f *testing.F) {
	f.Add([]byte("short"), uint16(1))
	f.Add(make([]byte, 500), uint16(400))
	f.Add(depottest.RandomBytes(1, 256), uint16(300))
	f.Fuzz(func(t *testing.T, seed []byte, times uint16) {
		b := bytes.Repeat(seed, int(times)%400)
		if len(b) > 2<<20 {
			b = b[:2<<20]
		}
		cutAll(t, b, nil)
	})
}
