// Package datamap reads what says how arrays lie on processes: layouts as people write them on a
// command line. It must not know what is done with them.
package datamap

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/sched/redist"
)

// LayoutForms says how a layout is written.
const LayoutForms = "block:N, cyclic:N, block-cyclic:N:BLOCK, grid:RxC:BLOCK, grid:RxC:BLOCKxBLOCK or replicated:N"

// maxProcs is far above what any program has.
const maxProcs = 1 << 20

// ParseLayout reads a layout such as grid:8x8:64: 8 times 8 processes, blocks of 64 times 64.
func ParseLayout(text string) (l redist.Layout, err error) {
	parts := strings.Split(text, ":")
	kind, ok := redist.KindOf(parts[0])
	l.Kind = kind
	bad := fmt.Errorf("one of %s", LayoutForms)
	wantParts := 2
	if kind == redist.BlockCyclic || kind == redist.Grid {
		wantParts = 3
	}
	if !ok || kind == redist.Ranges || len(parts) != wantParts {
		return l, bad
	}
	procs, err := parseSizes(parts[1], maxProcs)
	if err != nil || len(procs) > 2 || (len(procs) == 2) != (kind == redist.Grid) {
		return l, bad
	}
	l.Procs = int(procs[0])
	if kind == redist.Grid {
		l.Grid, l.ByRows = [2]int{int(procs[0]), int(procs[1])}, true
		if l.Procs = l.Grid[0] * l.Grid[1]; l.Procs > maxProcs {
			return l, fmt.Errorf("at most %d processes", maxProcs)
		}
	}
	if wantParts == 3 {
		blocks, err := parseSizes(parts[2], maxDimension)
		if err != nil || len(blocks) > 2 || len(blocks) == 2 && kind != redist.Grid {
			return l, bad
		}
		l.Blocks = [2]int64{blocks[0], blocks[len(blocks)-1]}
	}
	return l, nil
}

const (
	maxDimension  = 1 << 50
	maxDimensions = 8
)

// ParseShape reads the shape of an array, such as 100000x100000.
func ParseShape(text string) ([]int64, error) {
	shape, err := parseSizes(text, maxDimension)
	if err != nil || len(shape) > maxDimensions {
		return nil, fmt.Errorf("up to %d numbers above 0 with x between them, like 1000x1000", maxDimensions)
	}
	return shape, nil
}

// parseSizes reads numbers above 0 with x between them.
func parseSizes(text string, most int64) (list []int64, err error) {
	for part := range strings.SplitSeq(text, "x") {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || n < 1 || n > most {
			return nil, fmt.Errorf("%q is not a number from 1 to %d", part, most)
		}
		list = append(list, n)
	}
	return list, nil
}
