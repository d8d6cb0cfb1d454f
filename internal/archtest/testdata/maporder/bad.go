//as internal/sched/malleable

package malleable

import (
	"maps"
	"slices"
)

type byName map[string]int

func loops(m map[string]int, named byName, list []int) (sum int) {
	for k := range m { // want `ranges over the map m: .* random order`
		_ = k
	}
	for range named { // want `ranges over the map named`
		sum++
	}
	for _, v := range m { // order-free: a sum of whole numbers
		sum += v
	}
	// order-free: the largest of all,
	// whatever comes first
	for _, v := range m {
		sum = max(sum, v)
	}
	// order-free:
	for range m { // want `ranges over the map m`
	}
	// order-free: too far away

	for range m { // want `ranges over the map m`
	}
	for _, v := range list {
		sum += v
	}
	return sum
}

func iterators(m map[string]int) []string {
	for k := range maps.Keys(m) { // want `takes maps.Keys without sorting`
		_ = k
	}
	_ = slices.Collect(maps.Values(m)) // want `takes maps.Values without sorting`
	_ = slices.Collect(maps.Keys(m))   // order-free: counted only
	_ = maps.Clone(m)
	return slices.Sorted(maps.Keys(m))
}

func generic[M ~map[K]V, K comparable, V any, S ~[]V](m M, s S) {
	for range m { // want `ranges over the map m`
	}
	for range s {
	}
}
