package datamap

import (
	"reflect"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/redist"
)

func TestLayoutsAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]redist.Layout{
		"block:4":           {Kind: redist.Block, Procs: 4},
		"cyclic:3":          {Kind: redist.Cyclic, Procs: 3},
		"replicated:2":      {Kind: redist.Replicated, Procs: 2},
		"block-cyclic:4:16": {Kind: redist.BlockCyclic, Procs: 4, Blocks: [2]int64{16, 16}},
		"grid:2x3:64": {Kind: redist.Grid, Procs: 6, Grid: [2]int{2, 3}, Blocks: [2]int64{64, 64},
			ByRows: true},
		"grid:2x3:64x32": {Kind: redist.Grid, Procs: 6, Grid: [2]int{2, 3}, Blocks: [2]int64{64, 32},
			ByRows: true},
	} {
		if got, err := ParseLayout(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "block", "block:0", "block:4:4", "block:2x2", "grid:4:64", "grid:2x3", "grid:2x3x4:5",
		"ranges:2", "block-cyclic:4:2x2", "star:4", "grid:1048576x1048576:1", "block:-1", "block-cyclic:4:"} {
		if l, err := ParseLayout(text); err == nil {
			t.Errorf("%q is taken as %+v", text, l)
		}
	}
}

func FuzzLayout(f *testing.F) {
	f.Add("grid:2x3:64x32", "1000x7")
	f.Add("block-cyclic:4:16", "9")
	f.Fuzz(func(t *testing.T, layout, shape string) {
		l, err := ParseLayout(layout)
		s, wrong := ParseShape(shape)
		if err != nil || wrong != nil || l.Procs > 64 {
			return
		}
		a := redist.Array{Name: "a", ElementBytes: 8, Shape: s}
		for _, n := range s {
			if n > 1000 {
				return
			}
		}
		if len(s) > 3 {
			return
		}
		sizes, err := redist.PlaceBytes(a, l)
		if err != nil {
			return // a grid for a vector
		}
		sum, want := int64(0), a.ElementBytes
		for _, n := range sizes {
			sum += n
		}
		for _, n := range s {
			want *= n
		}
		if l.Kind == redist.Replicated {
			want *= int64(l.Procs)
		}
		if sum != want {
			t.Errorf("%s in %s: %d bytes, not %d", shape, layout, sum, want)
		}
	})
}
