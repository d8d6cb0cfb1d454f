package capture

import "slices"

// spreadCollective adds to a matrix what one member of collective operations sends to the
// others, if they are done as MPI libraries usually do them: trees of doubling
// distance from a root, neighbours at doubling distance where all get a result, a ring
// where all get much from all. bytes are those of all calls, as the member gave them.
// Operations that say how much goes to whom have been counted exactly elsewhere.
func spreadCollective(m [][]int64, rank int, kind string, group []int, root int, bytes int64) {
	n := len(group)
	me := slices.Index(group, rank)
	if me < 0 || n < 2 {
		return
	}
	to := func(member int, much int64) {
		if other := group[(member%n+n)%n]; other != rank {
			m[rank][other] += much
		}
	}
	from := 0 // places are counted from the root
	if at := slices.Index(group, root); at >= 0 {
		from = at
	}
	place := (me - from + n) % n
	switch kind {
	case "bcast":
		for _, child := range treeChildren(place, n) {
			to(child+from, bytes)
		}
	case "reduce":
		if place > 0 {
			to(treeParent(place)+from, bytes)
		}
	case "allreduce":
		for bit := 1; bit < n; bit *= 2 {
			if me^bit < n {
				to(me^bit, bytes)
			}
		}
	case "scan", "exscan":
		if me+1 < n {
			to(me+1, bytes)
		}
	case "gather", "gatherv":
		to(from, bytes)
	case "scatter":
		for i := range n {
			if place == 0 {
				to(i, bytes)
			}
		}
	case "allgather", "allgatherv":
		to(me+1, bytes*int64(n-1))
	case "alltoall", "reduce_scatter_block":
		for i := range n {
			to(i, bytes)
		}
	case "reduce_scatter":
		for i := range n {
			to(i, bytes/int64(n))
		}
	}
}

// treeParent is the place without its lowest set bit.
func treeParent(place int) int { return place & (place - 1) }

func treeChildren(place, n int) []int {
	var list []int
	for bit := 1; bit < n && place&bit == 0; bit *= 2 {
		if place|bit < n {
			list = append(list, place|bit)
		}
	}
	return list
}
