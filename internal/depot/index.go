package depot

// index says where chunks are. It is held in memory, so it is kept small: 20
// bytes a chunk and the slack of a map. Half of a hash is enough to tell chunks
// apart; the block that it leads to holds the whole.
type index struct {
	at     map[key]uint32
	places []place
}

type key [16]byte

func (s sum) key() key { return key(s[:16]) }

// place is where a block is. A size of 0 says that it is there no more.
type place struct {
	pack, off, size uint32
}

func newIndex() *index { return &index{at: map[key]uint32{}} }

func (x *index) find(id sum) (place, bool) {
	n, ok := x.at[id.key()]
	if !ok || x.places[n].size == 0 {
		return place{}, false
	}
	return x.places[n], true
}

// add says that the chunks ids are at p. Those that are elsewhere already stay
// there unless replace is set.
func (x *index) add(p place, ids []sum, replace bool) {
	n := uint32(len(x.places))
	used := false
	for _, id := range ids {
		old, ok := x.at[id.key()]
		if ok && x.places[old].size != 0 && !replace {
			continue
		}
		x.at[id.key()] = n
		used = true
	}
	if used {
		x.places = append(x.places, p)
	}
}

// drop forgets every block that gone names.
func (x *index) drop(gone func(place) bool) {
	for i, p := range x.places {
		if p.size != 0 && gone(p) {
			x.places[i].size = 0
		}
	}
}

// size is the number of chunks.
func (x *index) size() int {
	n := 0
	for _, at := range x.at { // order-free: a count
		if x.places[at].size != 0 {
			n++
		}
	}
	return n
}
