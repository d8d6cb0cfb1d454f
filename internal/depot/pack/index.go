package pack

import "github.com/godwit-hpc/godwit/internal/depot/chunk"

// index says where chunks are. It is held in memory, so it is kept small: 20
// bytes a chunk and the slack of a map. Half of a hash is enough to tell chunks
// apart; the block that it leads to holds the whole.
type index struct {
	at     map[chunk.HalfSum]uint32
	places []blockLocation
}

// blockLocation is where a block is. A size of 0 says that it is there no more.
type blockLocation struct {
	pack, off, size uint32
}

func newIndex() *index { return &index{at: map[chunk.HalfSum]uint32{}} }

func (x *index) findPlace(id chunk.Sum) (blockLocation, bool) {
	n, ok := x.at[id.FirstHalf()]
	if !ok || x.places[n].size == 0 {
		return blockLocation{}, false
	}
	return x.places[n], true
}

// addChunks says that the chunks ids are at p. Those that are elsewhere already stay
// there unless replace is set.
func (x *index) addChunks(p blockLocation, ids []chunk.Sum, replace bool) {
	n := uint32(len(x.places))
	used := false
	for _, id := range ids {
		old, ok := x.at[id.FirstHalf()]
		if ok && x.places[old].size != 0 && !replace {
			continue
		}
		x.at[id.FirstHalf()] = n
		used = true
	}
	if used {
		x.places = append(x.places, p)
	}
}

// dropBlocks forgets every block that gone names.
func (x *index) dropBlocks(gone func(blockLocation) bool) {
	for i, p := range x.places {
		if p.size != 0 && gone(p) {
			x.places[i].size = 0
		}
	}
}

// countChunks is the number of chunks.
func (x *index) countChunks() int {
	n := 0
	for _, at := range x.at { // order-free: a count
		if x.places[at].size != 0 {
			n++
		}
	}
	return n
}
