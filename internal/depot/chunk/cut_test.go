package chunk

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot/depottest"
)

// cutAll cuts content as a push does, and checks that the chunks are its.
func cutAll(t testing.TB, content []byte, holes *HoleMap) []Sum {
	t.Helper()
	var c Cutter
	var list []Sum
	var joined []byte
	p := PlanFor(int64(len(content)))
	for off := int64(0); off < int64(len(content)); off += p.PieceSize {
		var piece []Sum
		err := c.CutPiece(bytes.NewReader(content), p, off, min(p.PieceSize, int64(len(content))-off), holes,
			func(id Sum, plain []byte) error {
				piece = append(piece, id)
				if n, zero := id.IsZeros(); zero {
					joined = append(joined, make([]byte, n)...)
					return nil
				}
				if SumOf(plain) != id || len(plain) == 0 || len(plain) > MaxChunk {
					t.Errorf("a chunk of %d bytes with a wrong name", len(plain))
				}
				joined = append(joined, plain...)
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		list = JoinPieces(list, piece)
	}
	if !bytes.Equal(joined, content) {
		t.Errorf("the chunks of %d bytes make %d other ones", len(content), len(joined))
	}
	return list
}

// fresh is the part of the chunks of b that a has not.
func fresh(a, b []Sum) float64 {
	have := map[Sum]bool{}
	for _, id := range a {
		have[id] = true
	}
	n := 0
	for _, id := range b {
		if !have[id] {
			n++
		}
	}
	return float64(n) / float64(len(b))
}

func TestWhateverAFileHoldsItsChunksMakeIt(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		size := []int{r.IntN(10), r.IntN(70_000), 4096 * r.IntN(20), r.IntN(700_000), 4096 * (256 + r.IntN(20))}[r.IntN(5)]
		b := depottest.RandomBytes(r.Uint64(), size)
		for range r.IntN(6) {
			if size > 0 {
				from := r.IntN(size)
				if r.IntN(2) == 0 {
					from = from / 4096 * 4096
				}
				clear(b[from:min(size, from+r.IntN(200_000))])
			}
		}
		plain := cutAll(t, b, nil)
		// Knowing where the holes are changes nothing.
		holes := &HoleMap{}
		for off := 0; off < size; off += 512 {
			end := min(off+512, size)
			if allZero(b[off:end]) {
				continue
			}
			if n := len(holes.data); n > 0 && holes.data[n-1].to == int64(off) {
				holes.data[n-1].to = int64(end)
			} else {
				holes.data = append(holes.data, extent{int64(off), int64(end)})
			}
		}
		if with := cutAll(t, b, holes); !slices.Equal(plain, with) {
			t.Errorf("%d bytes are cut in another way when the holes are known", size)
		}
	}
}

func TestLargeImagesAreCutAtPagesByContent(t *testing.T) {
	b := depottest.RandomBytes(1, 512*pageSize)
	clear(b[100*pageSize : 150*pageSize])
	for _, pages := range []int{2, 4, 8} {
		cutIn := func(content []byte) (list []Sum) {
			var c Cutter
			var joined []byte
			err := c.CutPiece(bytes.NewReader(content), Plan{pages: pages}, 0, int64(len(content)), nil,
				func(id Sum, plain []byte) error {
					list = append(list, id)
					if n, zero := id.IsZeros(); zero {
						plain = make([]byte, n)
					} else if len(plain)%pageSize != 0 || len(plain) > 4*pages*pageSize {
						t.Errorf("a chunk of %d bytes", len(plain))
					}
					joined = append(joined, plain...)
					return nil
				})
			if err != nil || !bytes.Equal(joined, content) {
				t.Errorf("%d pages a chunk: %v", pages, err)
			}
			return list
		}
		list := cutIn(b)
		if n := 462 / len(list); n < pages/2 || n > pages*2 {
			t.Errorf("%d pages a chunk on average, want about %d", n, pages)
		}
		moved := slices.Concat(depottest.RandomBytes(2, 3*pageSize), b)
		if part := fresh(list, cutIn(moved)); part > 0.1 {
			t.Errorf("after three pages were put before it %.0f %% of the chunks are new", 100*part)
		}
	}
}

func TestAnInsertionCostsAFewChunks(t *testing.T) {
	b := depottest.LogText(1, 6_000_001)
	longer := slices.Concat(b[:1000], []byte("a line more\n"), b[1000:])
	if part := fresh(cutAll(t, b, nil), cutAll(t, longer, nil)); part > 0.1 {
		t.Errorf("%.0f %% of the chunks are new", 100*part)
	}
	image := depottest.RandomBytes(1, 1500*pageSize)
	longer = slices.Concat(image[:10*pageSize], depottest.RandomBytes(2, pageSize), image[10*pageSize:])
	if part := fresh(cutAll(t, image, nil), cutAll(t, longer, nil)); part > 0.01 {
		t.Errorf("one page more in an image makes %.1f %% of the chunks new", 100*part)
	}
}
