package redist

import (
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// MapVersion is that of the text of data maps; docs/program-protocol.md describes it.
const MapVersion = 1

// DataMap is what a checkpoint in parts holds: each array with the layout that it had.
type DataMap struct {
	Serial int64
	Stop   bool // the program has ended after it
	Procs  int
	Arrays []MappedArray
	Parts  []PartFile // of each process
}

// MappedArray is an array and how it lies.
type MappedArray struct {
	Array
	Type   int
	Layout Layout
}

// PartFile is the size of a part and the checksum of its head.
type PartFile struct {
	Bytes int64
	CRC   uint32
}

// Bounds of what a map may say, far above what any program has.
const (
	maxMapProcs = 1 << 20
	maxArrays   = 10000
)

// ParseDataMap reads the text of a map, which is whole or refused.
func ParseDataMap(text string) (m DataMap, err error) {
	version, rest, _ := strings.Cut(text, "\n")
	if n, ok := strings.CutPrefix(version, "godwit-srs "); !ok {
		return m, errors.New("it is not the map of a checkpoint of SRS")
	} else if n != strconv.Itoa(MapVersion) {
		return m, fmt.Errorf("its map has version %s; this release reads version %d", n, MapVersion)
	}
	i := strings.LastIndex(text, "\nend ") + 1
	crc := crc32.Checksum([]byte(text[:i]), crc32.MakeTable(crc32.Castagnoli))
	if i == 0 || text[i:] != fmt.Sprintf("end %08x\n", crc) {
		return m, errors.New("its map is damaged")
	}
	r := &mapReader{lines: bufio.NewScanner(strings.NewReader(rest[:len(rest)-(len(text)-i)]))}
	m.Serial = r.named("serial")
	m.Stop = r.named("stop") == 1
	m.Procs = int(r.bounded("procs", 1, maxMapProcs))
	count := int(r.bounded("arrays", 0, maxArrays))
	for range count {
		m.Arrays = append(m.Arrays, r.readArray(m.Procs))
		if r.err != nil {
			return DataMap{}, r.err
		}
	}
	for p := 0; r.err == nil && p < m.Procs; p++ {
		m.Parts = append(m.Parts, r.readPart(p))
	}
	if r.err == nil && r.lines.Scan() {
		r.fail()
	}
	return m, r.err
}

// mapReader reads the lines of a map; the first error stays.
type mapReader struct {
	lines *bufio.Scanner
	err   error
}

func (r *mapReader) fail() {
	if r.err == nil {
		r.err = fmt.Errorf("its map cannot be read: %q", r.lines.Text())
	}
}

// fields are those of the next line, which begins with a word; nil: it does not.
func (r *mapReader) fields(word string) []string {
	if r.err != nil || !r.lines.Scan() {
		r.fail()
		return nil
	}
	list := strings.Split(r.lines.Text(), " ")
	if list[0] != word {
		r.fail()
		return nil
	}
	return list[1:]
}

func (r *mapReader) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		r.fail()
	}
	return n
}

func (r *mapReader) named(word string) int64 {
	list := r.fields(word)
	if len(list) != 1 {
		r.fail()
		return 0
	}
	return r.number(list[0])
}

func (r *mapReader) bounded(word string, least, most int64) int64 {
	n := r.named(word)
	if n < least || n > most {
		r.fail()
	}
	return n
}

// readArray reads name, type, bytes of an element, order, kind, two blocks, two sides of a grid, order
// of its processes, number of ranges, number of dimensions, and these; then the ranges, a line each.
func (r *mapReader) readArray(procs int) (a MappedArray) {
	const fixed = 12
	list := r.fields("array")
	if len(list) < fixed {
		r.fail()
		return a
	}
	n := make([]int64, len(list)-1)
	for i, text := range list[1:] {
		n[i] = r.number(text)
	}
	if r.err != nil || int(n[10]) != len(n)-11 || n[3] >= int64(len(kindNames)) || max(n[6], n[7]) > maxMapProcs {
		r.fail()
		return a
	}
	a.Name, a.Type, a.ElementBytes, a.ColumnMajor, a.Shape = list[0], int(n[0]), n[1], n[2] == 1, n[11:]
	a.Layout = Layout{Kind: Kind(n[3]), Procs: procs, Blocks: [2]int64{n[4], n[5]}, Grid: [2]int{int(n[6]), int(n[7])},
		ByRows: n[8] == 1}
	if a.Layout.Kind == Ranges {
		a.Layout.PerProc = r.readRanges(procs, n[9])
	}
	if r.err == nil {
		_, _, r.err = a.Layout.axesOf(a.Array)
	}
	return a
}

// readRanges reads the ranges of all processes, each of which lies where the ones before it end.
func (r *mapReader) readRanges(procs int, count int64) [][]Run {
	type placed struct {
		Run
		at int64
	}
	lists := make([]map[int64]Run, procs)
	for range count {
		list := r.fields("run")
		if len(list) != 4 {
			r.fail()
			return nil
		}
		p := r.number(list[0])
		run := placed{Run{r.number(list[1]), r.number(list[2])}, r.number(list[3])}
		if r.err != nil || p >= int64(procs) {
			r.fail()
			return nil
		}
		if lists[p] == nil {
			lists[p] = map[int64]Run{}
		}
		lists[p][run.at] = run.Run
	}
	all := make([][]Run, procs)
	for p, runs := range lists {
		for at := int64(0); len(all[p]) < len(runs); {
			run, ok := runs[at]
			if !ok || run.Count < 1 {
				r.fail()
				return nil
			}
			all[p], at = append(all[p], run), at+run.Count
		}
	}
	return all
}

func (r *mapReader) readPart(p int) (f PartFile) {
	list := r.fields("part")
	if len(list) != 3 || r.number(list[0]) != int64(p) {
		r.fail()
		return f
	}
	crc, err := strconv.ParseUint(list[2], 16, 32)
	if f.Bytes, f.CRC = r.number(list[1]), uint32(crc); err != nil {
		r.fail()
	}
	return f
}
