package tree

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/klauspost/compress/zstd"
)

// The tree of a large image is large itself: a chunk of 4096 bytes has an ID of
// 32. So a tree that resembles one that both sides have is sent as what
// differs. Both texts are cut behind every comma, which is between IDs too; a
// patch is, compressed, a list of
//
//	number of new bytes, the bytes, where to copy from, number of bytes to copy
//
// with numbers as varints, the place relative to the end of the copy before.

// tokenSeed is the secret of this process by which tokens are hashed.
var tokenSeed = maphash.MakeSeed()

// MaxPatch bounds a patch as it is sent.
const MaxPatch = 16 << 20

// maxPatchText bounds the plain text of a patch, which may be large.
const maxPatchText = 64 << 20

// patchDecoder expands patches.
var patchDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxPatchText))
	if err != nil {
		panic(fmt.Sprintf("depot: options of the decoder: %v", err)) // constants, so a bug
	}
	return d
})

// MakePatch makes the patch that turns the text base into the text next.
func MakePatch(base, next []byte) []byte {
	at := map[uint64]int{} // where a token begins in base, by its hash
	for off := 0; off < len(base); {
		end := tokenEnd(base, off)
		h := maphash.Bytes(tokenSeed, base[off:end])
		if _, ok := at[h]; !ok {
			at[h] = off
		}
		off = end
	}
	var ops []byte
	fresh := 0 // where the new bytes begin in next
	last := 0  // end of the copy before
	for i := 0; i < len(next); {
		end := tokenEnd(next, i)
		from, ok := at[maphash.Bytes(tokenSeed, next[i:end])]
		if !ok || !bytes.HasPrefix(base[from:], next[i:end]) {
			i = end
			continue
		}
		n := end - i
		for i+n < len(next) && from+n < len(base) {
			a, b := tokenEnd(next, i+n), tokenEnd(base, from+n)
			if string(next[i+n:a]) != string(base[from+n:b]) {
				break
			}
			n = a - i
		}
		ops = appendOp(ops, next[fresh:i], from-last, n)
		i += n
		fresh, last = i, from+n
	}
	ops = appendOp(ops, next[fresh:], 0, 0)
	return chunk.BlockEncoder().EncodeAll(ops, nil)
}

// tokenEnd is the end of the token that begins at off.
func tokenEnd(text []byte, off int) int {
	for off < len(text) {
		off++
		if text[off-1] == ',' {
			break
		}
	}
	return off
}

func appendOp(ops, fresh []byte, from, n int) []byte {
	ops = binary.AppendUvarint(ops, uint64(len(fresh)))
	ops = append(ops, fresh...)
	ops = binary.AppendVarint(ops, int64(from))
	return binary.AppendUvarint(ops, uint64(n))
}

// ApplyPatch applies a patch to base.
func ApplyPatch(base, patch []byte) ([]byte, error) {
	bad := func(what string) ([]byte, error) {
		return nil, fmt.Errorf("%w: a patch with %s", chunk.ErrBadBlock, what)
	}
	ops, err := patchDecoder().DecodeAll(patch, nil)
	if err != nil {
		return bad(err.Error())
	}
	var text []byte
	last := 0
	for len(ops) > 0 {
		n, k := binary.Uvarint(ops)
		if k <= 0 || n > uint64(len(ops)-k) {
			return bad("too few bytes")
		}
		text = append(text, ops[k:k+int(n)]...)
		ops = ops[k+int(n):]
		by, k := binary.Varint(ops)
		if k <= 0 {
			return bad("no place")
		}
		ops = ops[k:]
		n, k = binary.Uvarint(ops)
		if k <= 0 {
			return bad("no number")
		}
		ops = ops[k:]
		from := int64(last) + by
		if from < 0 || from > int64(len(base)) || n > uint64(int64(len(base))-from) || n+uint64(len(text)) > MaxRemembered {
			return bad("a copy of what is not there")
		}
		text = append(text, base[from:from+int64(n)]...)
		last = int(from) + int(n)
	}
	return text, nil
}
