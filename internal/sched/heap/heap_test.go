package heap

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type item struct{ value, number, at int }

func (a *item) IsBefore(b *item) bool { return compareItems(a, b) < 0 }
func (a *item) SetPosition(i int)     { a.at = i }

func compareItems(a, b *item) int {
	return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.number, b.number))
}

// The same random life of a heap and of a list that is sorted whenever it is asked.
func TestAHeapDoesWhatASortedListDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h Heap[*item]
		var list []*item
		value := rapid.IntRange(0, 9)
		for step := range rapid.IntRange(1, 80).Draw(t, "steps") {
			what := rapid.IntRange(0, 5).Draw(t, "what")
			if len(list) == 0 {
				what = 0
			}
			pick := func() *item { return list[rapid.IntRange(0, len(list)-1).Draw(t, "which")] }
			switch what {
			case 0, 1:
				x := &item{value: value.Draw(t, "value"), number: step}
				list = append(list, x)
				h.Push(x)
			case 2:
				slices.SortFunc(list, compareItems)
				if got := h.Pop(); got != list[0] || got.at != -1 {
					t.Fatalf("popped %+v, want %+v", got, list[0])
				}
				list = list[1:]
			case 3:
				x := pick()
				if got := h.RemoveAt(x.at); got != x || x.at != -1 {
					t.Fatalf("removed %+v, want %+v", got, x)
				}
				list = slices.DeleteFunc(list, func(y *item) bool { return y == x })
			case 4:
				x := pick()
				x.value = value.Draw(t, "new value")
				h.FixAt(x.at)
			case 5:
				for _, x := range list {
					x.value = value.Draw(t, "new value")
				}
				h.FixAll()
			}
			checkPositions(t, h, len(list))
		}
		slices.SortFunc(list, compareItems)
		for _, want := range list {
			if got := h.Pop(); got != want {
				t.Fatalf("popped %+v, want %+v", got, want)
			}
		}
	})
}

func checkPositions(t *rapid.T, h Heap[*item], want int) {
	if len(h) != want {
		t.Fatalf("%d items, want %d", len(h), want)
	}
	for i, x := range h {
		if x.at != i {
			t.Fatalf("the item at %d believes to be at %d", i, x.at)
		}
		if up := (i - 1) / 2; i > 0 && x.IsBefore(h[up]) {
			t.Fatalf("the item at %d comes before the one above it", i)
		}
	}
}
