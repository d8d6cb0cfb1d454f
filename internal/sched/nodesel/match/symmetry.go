package match

import "slices"

// Limits on how much is known of a pattern's symmetry. What is not found only
// makes the search longer.
const (
	maxSymmetries    = 50_000
	maxSymmetrySteps = 2_000_000
)

// findAutomorphisms lists the ways to renumber a pattern that leave it as it is:
// all of them if they are few, otherwise exchanges of two equal parts that
// hang at one node, of which trees have many.
func findAutomorphisms(s *Shape) [][]int {
	if s.kind != general {
		return nil // the special matchers do not use them
	}
	if swaps := s.branchSwaps(); len(swaps) > 12 {
		return swaps // the group they generate is too large to list
	}
	f := &symmetryFinder{s: s, order: s.ConnectedOrder(), image: slices.Repeat([]int{-1}, s.m), used: make([]bool, s.m)}
	if f.extendImage(0) {
		return f.found
	}
	return s.branchSwaps()
}

// symmetryFinder maps the pattern onto itself, node by node.
type symmetryFinder struct {
	s     *Shape
	order []int
	image []int
	used  []bool
	found [][]int
	steps int
}

// extendImage reports whether the listing is complete.
func (f *symmetryFinder) extendImage(i int) bool {
	if i == len(f.order) {
		return f.keepImage()
	}
	p := f.order[i]
	for v := range f.image {
		if f.steps++; f.steps > maxSymmetrySteps {
			return false
		}
		if f.used[v] || !f.fitsAt(i, v) {
			continue
		}
		f.image[p], f.used[v] = v, true
		complete := f.extendImage(i + 1)
		f.image[p], f.used[v] = -1, false
		if !complete {
			return false
		}
	}
	return true
}

func (f *symmetryFinder) keepImage() bool {
	if slices.IsSorted(f.image) {
		return true // the identity
	}
	f.found = append(f.found, slices.Clone(f.image))
	return len(f.found) <= maxSymmetries
}

func (f *symmetryFinder) fitsAt(i, v int) bool {
	p := f.order[i]
	if f.s.g.vertexDegree(p) != f.s.g.vertexDegree(v) {
		return false
	}
	for _, q := range f.order[:i] {
		if f.s.class[p][q] != f.s.class[v][f.image[q]] {
			return false
		}
	}
	return true
}

// ConnectedOrder lists the nodes so that each has an earlier neighbour where
// it can have one.
func (s *Shape) ConnectedOrder() []int {
	var order []int
	for _, part := range s.g.componentsWithin(fullSet(s.m)) {
		order = append(order, part...)
	}
	return order
}

// branchSwaps are the exchanges of two equal branches of a tree that hang at
// the same node, for the next pair of equal ones.
func (s *Shape) branchSwaps() [][]int {
	if !s.connected || len(s.edges) != s.m-1 {
		return nil
	}
	parent := slices.Repeat([]int{-1}, s.m)
	order := s.ConnectedOrder()
	for _, v := range order {
		for u := s.g.adj[v].first(); u >= 0; u = s.g.adj[v].next(u) {
			if u != parent[v] {
				parent[u] = v
			}
		}
	}
	code := s.branchCodes(order, parent)
	var swaps [][]int
	for v := range s.m {
		last := map[int]int{} // by code
		for u := s.g.adj[v].first(); u >= 0; u = s.g.adj[v].next(u) {
			if u == parent[v] {
				continue
			}
			if w, ok := last[code[u]]; ok {
				image := identityImage(s.m)
				s.exchangeBranches(image, code, parent, u, w)
				swaps = append(swaps, image)
			}
			last[code[u]] = u
		}
	}
	return swaps
}

// branchCodes numbers the branches below each node so that equal ones have
// equal numbers: same weight upwards, same branches below.
func (s *Shape) branchCodes(order, parent []int) []int {
	code := make([]int, s.m)
	numbers := map[string]int{}
	for i := len(order) - 1; i >= 0; i-- {
		v := order[i]
		var below []int
		for u := s.g.adj[v].first(); u >= 0; u = s.g.adj[v].next(u) {
			if u != parent[v] {
				below = append(below, code[u])
			}
		}
		slices.Sort(below)
		up := -1
		if parent[v] >= 0 {
			up = s.class[v][parent[v]]
		}
		key := string(appendInts(nil, append(below, up)))
		if _, ok := numbers[key]; !ok {
			numbers[key] = len(numbers)
		}
		code[v] = numbers[key]
	}
	return code
}

func appendInts(b []byte, list []int) []byte {
	for _, x := range list {
		b = append(b, byte(x), byte(x>>8), byte(x>>16), byte(x>>24))
	}
	return b
}

// exchangeBranches maps the branch at u onto the equal one at w and back.
func (s *Shape) exchangeBranches(image, code, parent []int, u, w int) {
	image[u], image[w] = w, u
	below := func(v int) []int {
		var list []int
		for x := s.g.adj[v].first(); x >= 0; x = s.g.adj[v].next(x) {
			if x != parent[v] {
				list = append(list, x)
			}
		}
		slices.SortStableFunc(list, func(a, b int) int { return code[a] - code[b] })
		return list
	}
	other := below(w)
	for i, x := range below(u) {
		s.exchangeBranches(image, code, parent, x, other[i])
	}
}

func identityImage(m int) []int {
	id := make([]int, m)
	for i := range id {
		id[i] = i
	}
	return id
}
