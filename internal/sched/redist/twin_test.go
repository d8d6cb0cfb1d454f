package redist

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// twin is the layout told element by element, as its definition says: no cleverness.
type twin struct {
	a      Array
	memory [][]int64 // of each process: the numbers of its elements, in the order in which they lie there
}

// ownerOf is the process that has an element; -1: every one.
func ownerOf(a Array, l Layout, index []int64) int {
	d := a.slowDimension()
	n, i := a.Shape[d], index[d]
	switch l.Kind {
	case Block:
		for p := range l.Procs {
			if i >= n*int64(p)/int64(l.Procs) && i < n*int64(p+1)/int64(l.Procs) {
				return p
			}
		}
	case Cyclic:
		return int(i % int64(l.Procs))
	case BlockCyclic:
		return int(i / l.Blocks[0] % int64(l.Procs))
	case Grid:
		row := int(index[0] / l.Blocks[0] % int64(l.Grid[0]))
		col := int(index[1] / l.Blocks[1] % int64(l.Grid[1]))
		if l.ByRows {
			return row*l.Grid[1] + col
		}
		return row + col*l.Grid[0]
	case Ranges:
		for p, runs := range l.PerProc {
			for _, r := range runs {
				if i >= r.Start && i < r.Start+r.Count {
					return p
				}
			}
		}
	case Replicated:
	}
	return -1
}

func newTwin(a Array, l Layout) twin {
	t := twin{a, make([][]int64, l.Procs)}
	visit := func(slow func(int64) bool) {
		for index, number := range elementsOf(a) {
			if !slow(index[a.slowDimension()]) {
				continue
			}
			for p := range l.Procs {
				if o := ownerOf(a, l, index); o == p || o < 0 {
					t.memory[p] = append(t.memory[p], number)
				}
			}
		}
	}
	if l.Kind != Ranges {
		visit(func(int64) bool { return true })
		return t
	}
	for p, runs := range l.PerProc {
		for _, r := range runs {
			for index, number := range elementsOf(a) {
				if i := index[a.slowDimension()]; i >= r.Start && i < r.Start+r.Count {
					t.memory[p] = append(t.memory[p], number)
				}
			}
		}
	}
	return t
}

// elementsOf visits all elements in the order in which they lie in memory.
func elementsOf(a Array) func(yield func([]int64, int64) bool) {
	return func(yield func([]int64, int64) bool) {
		order := make([]int, len(a.Shape)) // the dimension that changes fastest last
		for i := range order {
			order[i] = i
		}
		if a.ColumnMajor {
			slices.Reverse(order)
		}
		index := make([]int64, len(a.Shape))
		for number := int64(0); ; number++ {
			if !yield(index, number) {
				return
			}
			k := len(order) - 1
			for ; k >= 0; k-- {
				if index[order[k]]++; index[order[k]] < a.Shape[order[k]] {
					break
				}
				index[order[k]] = 0
			}
			if k < 0 {
				return
			}
		}
	}
}

func randomArray(r *rand.Rand) Array {
	a := Array{Name: "a", ElementBytes: 1 + r.Int64N(8), ColumnMajor: r.IntN(2) == 0}
	for range 1 + r.IntN(3) {
		a.Shape = append(a.Shape, 1+r.Int64N(17))
	}
	return a
}

func randomLayout(r *rand.Rand, a Array) Layout {
	l := Layout{Kind: Kind(r.IntN(len(kindNames))), Procs: 1 + r.IntN(8)}
	switch l.Kind {
	case BlockCyclic:
		l.Blocks[0] = 1 + r.Int64N(6)
	case Grid:
		if len(a.Shape) != 2 {
			return randomLayout(r, a)
		}
		l.Grid = [2]int{1 + r.IntN(4), 1 + r.IntN(4)}
		l.Blocks = [2]int64{1 + r.Int64N(5), 1 + r.Int64N(5)}
		l.ByRows, l.Procs = r.IntN(2) == 0, l.Grid[0]*l.Grid[1]
	case Ranges:
		l.PerProc = make([][]Run, l.Procs)
		for at, n := int64(0), a.Shape[a.slowDimension()]; at < n; {
			c := 1 + r.Int64N(n-at)
			p := r.IntN(l.Procs)
			l.PerProc[p] = slices.Insert(l.PerProc[p], r.IntN(len(l.PerProc[p])+1), Run{at, c})
			at += c
		}
	case Block, Cyclic, Replicated:
	}
	return l
}

func TestEveryPlanMovesWhatTheTwinMoves(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 17))
	for range 1000 {
		a := randomArray(r)
		old, new := randomLayout(r, a), randomLayout(r, a)
		plan, err := PlanTransfers(a, old, new)
		if err != nil {
			t.Fatalf("%+v from %+v to %+v: %v", a, old, new, err)
		}
		from, want := newTwin(a, old), newTwin(a, new)
		got := make([][]int64, new.Procs)
		for p := range got {
			got[p] = slices.Repeat([]int64{-1}, len(want.memory[p]))
		}
		for _, tr := range plan {
			bytes, extents := int64(0), int64(0)
			for e := range tr.Extents() {
				for k := int64(0); k < e.Bytes; k += a.ElementBytes {
					to := &got[tr.To][(e.New+k)/a.ElementBytes]
					if *to != -1 {
						t.Fatalf("%+v from %+v to %+v: an element comes twice", a, old, new)
					}
					*to = from.memory[tr.From][(e.Old+k)/a.ElementBytes]
				}
				bytes, extents = bytes+e.Bytes, extents+1
			}
			if bytes != tr.Bytes || extents != tr.CountExtents() {
				t.Fatalf("%d bytes in %d extents; it says %d in %d", bytes, extents, tr.Bytes, tr.CountExtents())
			}
		}
		for p := range got {
			if !slices.Equal(got[p], want.memory[p]) {
				t.Fatalf("%+v from %+v to %+v: process %d has %v, not %v", a, old, new, p, got[p], want.memory[p])
			}
		}
		sizes, err := PlaceBytes(a, new)
		for p := range got {
			if err != nil || sizes[p] != int64(len(got[p]))*a.ElementBytes {
				t.Fatalf("%+v in %+v: process %d has %d bytes, not %d (%v)", a, new, p, sizes[p],
					int64(len(got[p]))*a.ElementBytes, err)
			}
		}
	}
}
