package dag

import (
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
)

func pairs(list [][2]int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for _, p := range list {
			if !yield(p[0], p[1]) {
				return
			}
		}
	}
}

func TestACycleIsFoundIfThereIsOne(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	found := 0
	for range 2000 {
		n := 1 + rnd.IntN(8)
		var list [][2]int
		reach := make([][]bool, n) // who waits for whom, in the end
		for i := range reach {
			reach[i] = make([]bool, n)
		}
		for range rnd.IntN(2 * n) {
			p := [2]int{rnd.IntN(n), rnd.IntN(n)}
			list = append(list, p)
			reach[p[0]][p[1]] = true
		}
		for k := range n {
			for i := range n {
				for j := range n {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		any := false
		for i := range n {
			any = any || reach[i][i]
		}
		round := FindCycle(n, pairs(list))
		if (round != nil) != any {
			t.Fatalf("%d tasks, %v: %v", n, list, round)
		}
		for i, task := range round {
			before := round[(i+len(round)-1)%len(round)]
			if !slices.Contains(list, [2]int{before, task}) {
				t.Fatalf("%v is no cycle of %v", round, list)
			}
		}
		if any {
			found++
		}
	}
	if found == 0 || found == 2000 {
		t.Errorf("%d of 2000 had a cycle", found)
	}
}

func TestALongRoundIsToldByItsEnd(t *testing.T) {
	name := func(i int) string { return string(rune('a' + i)) }
	for want, round := range map[string][]int{"a": {0}, "a → b → c → d": {0, 1, 2, 3},
		"… → b → c → d → e": {0, 1, 2, 3, 4}} {
		if got, _ := DescribeCycle(round, name); got != want {
			t.Errorf("%v is told as %s, want %s", round, got, want)
		}
	}
}
