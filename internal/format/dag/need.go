package dag

import (
	"cmp"
	"math"
	"slices"
)

// NoFile, as the bytes of a Need, says that no file comes with it.
const NoFile = -1

// A Need makes one task wait for another, both given by their index, and for
// the files it reads of it.
type Need struct {
	From  int   `json:"from"`
	To    int   `json:"to"`
	Bytes int64 `json:"bytes"`           // of all files together, or NoFile
	Files int   `json:"files,omitempty"` // how many
}

// JoinNeeds puts the needs of each pair of tasks together: a child waits for all the
// files of a parent, one after another, not for the largest alone. The result is
// sorted by child, then by parent. A sum that is too large to count stays at the
// largest number that is not.
func JoinNeeds(needs []Need) []Need {
	slices.SortFunc(needs, func(x, y Need) int { return cmp.Or(cmp.Compare(x.To, y.To), cmp.Compare(x.From, y.From)) })
	var pairs []Need
	for _, n := range needs {
		last := len(pairs) - 1
		if last < 0 || pairs[last].From != n.From || pairs[last].To != n.To {
			pairs = append(pairs, n)
			continue
		}
		if p := &pairs[last]; n.Bytes >= 0 {
			p.Bytes = min(max(0, p.Bytes), math.MaxInt64-n.Bytes) + n.Bytes
			p.Files += n.Files
		}
	}
	return pairs
}
