package chunk

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/zeebo/blake3"
)

// ID is the name of a chunk or a tree: 64 hexadecimal digits, the BLAKE3-256
// hash of the plain bytes; for a tree, of its canonical JSON. An ID of 48 zeros
// and a length stands for so many zero bytes, which nobody keeps or sends.
type ID string

// Sum is an ID in 32 bytes.
type Sum [32]byte

// HalfSum is the first half of a Sum: enough to tell the chunks of one depot apart.
type HalfSum [16]byte

// FirstHalf is the first half of a Sum.
func (s Sum) FirstHalf() HalfSum { return HalfSum(s[:16]) }

// MaxChunk bounds the plain bytes of one chunk, and so what a peer can make us
// hold in memory.
const MaxChunk = 1 << 20

// SumOf is the Sum of a chunk with these plain bytes.
func SumOf(plain []byte) Sum { return blake3.Sum256(plain) }

// IDOf is the ID of a chunk with these plain bytes.
func IDOf(plain []byte) ID { return SumOf(plain).ToID() }

// ToID writes a Sum as an ID.
func (s Sum) ToID() ID { return ID(hex.EncodeToString(s[:])) }

// IDsOf gives many IDs, which lie in one piece of memory.
func IDsOf(sums []Sum) []ID {
	if len(sums) == 0 {
		return nil
	}
	const n = 2 * len(Sum{})
	var text strings.Builder
	text.Grow(n * len(sums))
	var one [n]byte
	for _, s := range sums {
		hex.Encode(one[:], s[:])
		text.Write(one[:])
	}
	all, ids := ID(text.String()), make([]ID, len(sums))
	for i := range ids {
		ids[i] = all[n*i : n*i+n]
	}
	return ids
}

// ParseID reads an ID, and is strict: what names a chunk also names it in every
// other depot.
func ParseID(id ID) (Sum, error) {
	var s Sum
	if len(id) != 2*len(s) {
		return s, fmt.Errorf("%q is no ID: want %d hexadecimal digits", ClipText(string(id)), 2*len(s))
	}
	for i := range s {
		hi, lo := hexDigit[id[2*i]], hexDigit[id[2*i+1]]
		if hi|lo > 15 {
			return s, fmt.Errorf("%q is no ID: want %d hexadecimal digits", ClipText(string(id)), 2*len(s))
		}
		s[i] = hi<<4 | lo
	}
	return s, nil
}

// hexDigit is what a digit is worth; 255 if it is none. Capitals are none: an
// ID is written in one way.
var hexDigit = func() (worth [256]byte) {
	for i := range worth {
		worth[i] = 255
	}
	for i, c := range "0123456789abcdef" {
		worth[c] = byte(i)
	}
	return worth
}()

// ParseIDs reads many IDs.
func ParseIDs(ids []ID) ([]Sum, error) {
	sums := make([]Sum, len(ids))
	for i, id := range ids {
		s, err := ParseID(id)
		if err != nil {
			return nil, err
		}
		sums[i] = s
	}
	return sums, nil
}

// ZerosID names n zero bytes. No hash begins with 24 zero bytes in practice, so
// such a name is free.
func ZerosID(n int64) Sum {
	var s Sum
	binary.BigEndian.PutUint64(s[24:], uint64(n))
	return s
}

// IsZeros reports whether s names zero bytes, and how many.
func (s Sum) IsZeros() (int64, bool) {
	if [24]byte(s[:24]) != [24]byte{} {
		return 0, false
	}
	n := int64(binary.BigEndian.Uint64(s[24:]))
	return n, n > 0
}
