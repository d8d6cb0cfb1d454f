package redist

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Kind is how a layout divides an array.
type Kind uint8

// The kinds of layouts.
const (
	Block       Kind = iota // along the slow dimension, as evenly as can be, neighbours together
	Cyclic                  // along the slow dimension, one after the other in turn
	BlockCyclic             // along the slow dimension, blocks in turn
	Grid                    // both dimensions of a matrix, blocks in turn, over a grid of processes (ScaLAPACK)
	Replicated              // each process has all of it
	Ranges                  // along the slow dimension, as the program says
)

var kindNames = [...]string{"block", "cyclic", "block-cyclic", "grid", "replicated", "ranges"}

// String is the word for it in maps of checkpoints and on the command line.
func (k Kind) String() string { return kindNames[k] }

// KindOf is the kind of that name.
func KindOf(name string) (Kind, bool) {
	i := slices.Index(kindNames[:], name)
	return Kind(max(i, 0)), i >= 0
}

// Layout says which process has which elements. Dimensions are those of the array, the
// first one first.
type Layout struct {
	Kind    Kind
	Procs   int
	Blocks  [2]int64 // elements of a block: BlockCyclic the first, Grid both dimensions
	Grid    [2]int   // processes along both dimensions, for Grid; their product is Procs
	ByRows  bool     // processes of the grid are numbered row by row, else column by column
	PerProc [][]Run  // for Ranges: what each process has, in the order in which it lies there
}

// Run is neighbours along an axis.
type Run struct{ Start, Count int64 }

// Array is what is divided.
type Array struct {
	Name         string
	ElementBytes int64
	Shape        []int64
	// ColumnMajor: the first dimension is the one along which neighbours lie together, as in
	// Fortran; else the last one, as in C.
	ColumnMajor bool
}

// maxElements keeps sums of bytes below what an int64 holds.
const maxElements = math.MaxInt64 >> 8

// ShapeText is a shape as people write it.
func ShapeText(shape []int64) string {
	text := ""
	for i, n := range shape {
		if i > 0 {
			text += " x "
		}
		text += fmt.Sprint(n)
	}
	return text
}

func (a Array) errorf(format string, args ...any) error {
	return fmt.Errorf("array %s of %s: %s", a.Name, ShapeText(a.Shape), fmt.Sprintf(format, args...))
}

// CheckArray says what is wrong with an array.
func (a Array) CheckArray() error {
	if len(a.Shape) == 0 || a.ElementBytes < 1 || a.ElementBytes > 255 {
		return a.errorf("it needs a dimension, and elements of 1 to 255 bytes, not %d", a.ElementBytes)
	}
	elements := int64(1)
	for _, n := range a.Shape {
		if n < 1 || n > maxElements/a.ElementBytes/elements {
			return a.errorf("every dimension needs at least one element, and all together less than %d bytes",
				int64(maxElements))
		}
		elements *= n
	}
	return nil
}

// slowDimension is the one along which neighbours lie farthest apart.
func (a Array) slowDimension() int {
	if a.ColumnMajor {
		return len(a.Shape) - 1
	}
	return 0
}

// axes are the lengths of the slow and the fast axis. The fast one is all other dimensions
// together.
func (a Array) axes() (slow, fast int64) {
	fast = 1
	for i, n := range a.Shape {
		if i == a.slowDimension() {
			slow = n
			continue
		}
		fast *= n
	}
	return slow, fast
}

// axis is one axis as one layout divides it.
type axis struct {
	length int64
	procs  int
	block  int64 // 0: as evenly as can be
	held   []held
}

// held is neighbours that one process has, sorted by start; at is where they lie there.
type held struct {
	Run
	owner int
	at    int64
}

// axesOf are the slow and the fast axis of an array as the layout divides them.
func (l Layout) axesOf(a Array) (slow, fast axis, err error) {
	if err := errorsFirst(a.CheckArray, func() error { return l.check(a) }); err != nil {
		return axis{}, axis{}, err
	}
	s, f := a.axes()
	slow, fast = axis{length: s, procs: l.Procs}, axis{length: f, procs: 1}
	switch l.Kind {
	case Block:
	case Cyclic:
		slow.block = 1
	case BlockCyclic:
		slow.block = l.Blocks[0]
	case Replicated:
		slow.procs = 1
	case Grid:
		d := a.slowDimension()
		slow.procs, slow.block = l.Grid[d], l.Blocks[d]
		fast.procs, fast.block = l.Grid[1-d], l.Blocks[1-d]
	case Ranges:
		slow.held, err = l.sortRanges(a, s)
	}
	return slow, fast, err
}

func errorsFirst(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// check says what is wrong with a layout of an array.
func (l Layout) check(a Array) error {
	switch {
	case int(l.Kind) >= len(kindNames):
		return a.errorf("there is no layout %d", l.Kind)
	case l.Procs < 1:
		return a.errorf("it is divided over %d processes; at least one is needed", l.Procs)
	case l.Kind == BlockCyclic && l.Blocks[0] < 1:
		return a.errorf("blocks of %d elements; at least one is needed", l.Blocks[0])
	case l.Kind == Grid && len(a.Shape) != 2:
		return a.errorf("a grid of processes divides matrices; this has %d dimensions", len(a.Shape))
	case l.Kind == Grid && (l.Blocks[0] < 1 || l.Blocks[1] < 1):
		return a.errorf("blocks of %d x %d elements; at least one each way is needed", l.Blocks[0], l.Blocks[1])
	case l.Kind == Grid && (l.Grid[0] < 1 || l.Grid[1] < 1 || l.Grid[0]*l.Grid[1] != l.Procs):
		return a.errorf("a grid of %d x %d processes is not one of %d", l.Grid[0], l.Grid[1], l.Procs)
	case l.Kind == Ranges && len(l.PerProc) != l.Procs:
		return a.errorf("ranges of %d processes, not of %d", len(l.PerProc), l.Procs)
	}
	return nil
}

// sortRanges sorts what the processes have, which must be each element once.
func (l Layout) sortRanges(a Array, length int64) ([]held, error) {
	var list []held
	for p, runs := range l.PerProc {
		at := int64(0)
		for _, r := range runs {
			if r.Start < 0 || r.Count < 1 || r.Start > length-r.Count {
				return nil, a.errorf("process %d has a range of %d from %d on, which is not within 0 to %d", p, r.Count,
					r.Start, length)
			}
			list = append(list, held{r, p, at})
			at += r.Count
		}
	}
	slices.SortFunc(list, func(x, y held) int { return cmp.Compare(x.Start, y.Start) })
	next := int64(0)
	for i, h := range list {
		switch {
		case h.Start < next:
			return nil, a.errorf("the range of process %d from %d on overlaps one of process %d", h.owner, h.Start,
				list[i-1].owner)
		case h.Start > next:
			return nil, a.errorf("nobody has the elements from %d to %d", next, h.Start)
		}
		next = h.Start + h.Count
	}
	if next < length {
		return nil, a.errorf("nobody has the elements from %d to %d", next, length)
	}
	return list, nil
}

// rankOf is the process that stands at a place of the axes.
func (l Layout) rankOf(a Array, slow, fast int) int {
	if l.Kind != Grid {
		return slow
	}
	row, col := slow, fast
	if a.ColumnMajor {
		row, col = fast, slow
	}
	if l.ByRows {
		return row*l.Grid[1] + col
	}
	return col*l.Grid[0] + row
}

// cursor walks along an axis from owner to owner.
type cursor struct {
	axis
	held
	end  int64
	turn int   // of the next in held, or of the block
	full int64 // blocks that every process had before this round
}

// next goes to the next owner.
func (c *cursor) next() {
	start := c.end
	switch {
	case c.axis.held != nil:
		c.held = c.axis.held[c.turn]
		c.turn++
	case c.procs == 1:
		c.held = held{Run{0, c.length}, 0, 0}
	case c.block == 0:
		c.nextShare(start)
	default:
		c.held = held{Run{start, min(c.block, c.length-start)}, c.turn, c.full * c.block}
		if c.turn++; c.turn == c.procs {
			c.turn, c.full = 0, c.full+1
		}
	}
	c.end = c.Start + c.Count
}

// nextShare goes to the next process that has a share: of few elements not all have one.
func (c *cursor) nextShare(start int64) {
	for {
		from, to := FirstOf(c.turn, c.procs, c.length), FirstOf(c.turn+1, c.procs, c.length)
		c.turn++
		if to > from {
			c.held = held{Run{start, to - from}, c.turn - 1, 0}
			return
		}
	}
}

// FirstOf is the first element of a process where all are divided as evenly as can be.
func FirstOf(proc, procs int, all int64) int64 {
	p, n := int64(proc), int64(procs)
	return all/n*p + all%n*p/n
}

// widths are how many elements of the axis each owner has.
func (x axis) widths() []int64 {
	list := make([]int64, x.procs)
	for c := (cursor{axis: x}); c.end < x.length; {
		c.next()
		list[c.owner] += c.Count
	}
	return list
}
