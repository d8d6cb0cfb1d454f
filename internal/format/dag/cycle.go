// Package dag is what the formats of workflows share: who waits for whom and for how
// much data, and tasks that wait for each other. It knows numbers, not what they stand
// for.
package dag

import (
	"iter"
	"slices"
	"strconv"
)

// FindCycle is one round of tasks, of n, that wait for each other, each for the one
// before it; nil if there is none. needs gives who is waited for, and by whom. It
// takes time and memory in proportion to tasks and needs.
func FindCycle(n int, needs iter.Seq2[int, int]) []int {
	waits, first := make([]int, n), make([]int, n+1)
	count := 0
	for from, to := range needs {
		waits[to]++
		first[from+1]++
		count++
	}
	for t := range n {
		first[t+1] += first[t]
	}
	children, next := make([]int, count), slices.Clone(first)
	for from, to := range needs {
		children[next[from]] = to
		next[from]++
	}
	var free []int
	for t := range waits {
		if waits[t] == 0 {
			free = append(free, t)
		}
	}
	for i := 0; i < len(free); i++ {
		for _, c := range children[first[free[i]]:first[free[i]+1]] {
			if waits[c]--; waits[c] == 0 {
				free = append(free, c)
			}
		}
	}
	if len(free) == n {
		return nil
	}
	return findRound(waits, needs)
}

// findRound follows parents until it comes back: those that still wait all have a
// parent that does.
func findRound(waits []int, needs iter.Seq2[int, int]) []int {
	parent := make([]int, len(waits))
	for from, to := range needs {
		if waits[from] > 0 {
			parent[to] = from
		}
	}
	at := slices.IndexFunc(waits, func(n int) bool { return n > 0 })
	seen := make([]bool, len(waits))
	for !seen[at] {
		seen[at] = true
		at = parent[at]
	}
	list := []int{at}
	for t := parent[at]; t != at; t = parent[t] {
		list = append(list, t)
	}
	slices.Reverse(list)
	return list
}

// DescribeCycle is a round for people, its last tasks if there are many, and what would be
// right.
func DescribeCycle(round []int, name func(int) string) (value, want string) {
	shown := round[max(0, len(round)-4):]
	for i, t := range shown {
		if i > 0 {
			value += " → "
		}
		value += name(t)
	}
	if len(shown) < len(round) {
		value = "… → " + value
	}
	return value, "no cycle; here " + strconv.Itoa(len(round)) + " tasks wait for each other"
}
