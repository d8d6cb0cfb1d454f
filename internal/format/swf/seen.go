package swf

// idSet is the set of job numbers read so far. Numbers mostly come in order,
// so 64 neighbours share a word and the word in use is kept out of the map.
type idSet struct {
	words map[int64]uint64
	at    int64 // which word is in hand
	word  uint64
}

func newSeen() idSet { return idSet{words: make(map[int64]uint64)} }

// addID says whether id was not in the set before.
func (s *idSet) addID(id int64) bool {
	if at := id >> 6; at != s.at {
		s.words[s.at] = s.word
		s.at, s.word = at, s.words[at]
	}
	bit := uint64(1) << (id & 63)
	fresh := s.word&bit == 0
	s.word |= bit
	return fresh
}
