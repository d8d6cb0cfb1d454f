package redist

// Piece is neighbours along an axis that move together: where they lie on their old and on
// their new process.
type Piece struct{ Old, New, Count int64 }

// Transfer is what one process of the old layout gives to one of the new.
type Transfer struct {
	From, To int
	Bytes    int64

	slow, fast       []Piece
	oldWidth, newAll int64 // of the fast axis, on the old and on the new process
	element          int64
}

// pair is an old and a new owner on one axis.
type pair struct{ old, new int }

// cutAxis cuts an axis where either owner changes, and keeps the pieces of each pair of owners.
// Pieces that lie together on both processes become one, even where others lie between them
// in the array.
func cutAxis(old, new axis) (pairs []pair, pieces map[pair][]Piece) {
	pieces = map[pair][]Piece{}
	o, n := cursor{axis: old}, cursor{axis: new}
	for at := int64(0); at < old.length; {
		if at == o.end {
			o.next()
		}
		if at == n.end {
			n.next()
		}
		key, p := pair{o.owner, n.owner}, Piece{o.at + at - o.Start, n.at + at - n.Start, min(o.end, n.end) - at}
		list := pieces[key]
		if len(list) == 0 {
			pairs = append(pairs, key)
		}
		pieces[key] = joinPiece(list, p)
		at += p.Count
	}
	return pairs, pieces
}

// joinPiece adds a piece to others of the same pair.
func joinPiece(list []Piece, p Piece) []Piece {
	if len(list) > 0 {
		last := &list[len(list)-1]
		if last.Old+last.Count == p.Old && last.New+last.Count == p.New {
			last.Count += p.Count
			return list
		}
	}
	return append(list, p)
}

// PlanTransfers lists what has to move, ordered by the axes. Of an array that each process had, process 0
// gives it to all.
func PlanTransfers(a Array, old, new Layout) ([]Transfer, error) {
	oldSlow, oldFast, err := old.axesOf(a)
	if err != nil {
		return nil, err
	}
	newSlow, newFast, err := new.axesOf(a)
	if err != nil {
		return nil, err
	}
	slowPairs, slow := cutAxis(oldSlow, newSlow)
	fastPairs, fast := cutAxis(oldFast, newFast)
	oldWidths, newWidths := oldFast.widths(), newFast.widths()
	list := make([]Transfer, 0, len(slowPairs)*len(fastPairs))
	for _, s := range slowPairs {
		for _, f := range fastPairs {
			list = append(list, Transfer{From: old.rankOf(a, s.old, f.old), To: new.rankOf(a, s.new, f.new),
				slow: slow[s], fast: fast[f], oldWidth: oldWidths[f.old], newAll: newWidths[f.new],
				element: a.ElementBytes, Bytes: sumCounts(slow[s]) * sumCounts(fast[f]) * a.ElementBytes})
		}
	}
	if new.Kind == Replicated {
		list = giveToAll(list, new.Procs)
	}
	return list, nil
}

func giveToAll(list []Transfer, procs int) []Transfer {
	all := make([]Transfer, 0, len(list)*procs)
	for p := range procs {
		for _, t := range list {
			t.To = p
			all = append(all, t)
		}
	}
	return all
}

func sumCounts(list []Piece) int64 {
	sum := int64(0)
	for _, p := range list {
		sum += p.Count
	}
	return sum
}

// isWhole says whether lines along the fast axis follow each other without a gap on both processes.
func (t Transfer) isWhole() bool {
	return len(t.fast) == 1 && t.fast[0].Count == t.oldWidth && t.fast[0].Count == t.newAll
}

// CountExtents is how many there are.
func (t Transfer) CountExtents() int64 {
	if t.isWhole() {
		return int64(len(t.slow))
	}
	return sumCounts(t.slow) * int64(len(t.fast))
}

// PlaceBytes is how many bytes of the array a process of the layout has.
func PlaceBytes(a Array, l Layout) ([]int64, error) {
	slow, fast, err := l.axesOf(a)
	if err != nil {
		return nil, err
	}
	list := make([]int64, l.Procs)
	for s, rows := range slow.widths() {
		for f, cols := range fast.widths() {
			list[l.rankOf(a, s, f)] = rows * cols * a.ElementBytes
		}
	}
	if l.Kind == Replicated {
		for p := range list {
			list[p] = list[0]
		}
	}
	return list, nil
}
