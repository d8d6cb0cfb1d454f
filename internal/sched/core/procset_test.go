package core

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

const universe = 100 // processors in the sets drawn below

// drawSet draws a set together with its naive twin.
func drawSet(t *rapid.T, label string, without map[int]bool) (ProcSet, map[int]bool) {
	twin := map[int]bool{}
	for range rapid.IntRange(0, 8).Draw(t, label+" ranges") {
		lo := rapid.IntRange(0, universe-1).Draw(t, "lo")
		n := rapid.IntRange(1, 12).Draw(t, "n")
		for p := lo; p < min(lo+n, universe); p++ {
			if !without[p] {
				twin[p] = true
			}
		}
	}
	return setOf(twin), twin
}

// setOf builds the set of a twin, processor by processor.
func setOf(twin map[int]bool) ProcSet {
	var s ProcSet
	for p := range int32(universe) {
		if !twin[int(p)] {
			continue
		}
		if k := len(s); k > 0 && s[k-1].Hi == p {
			s[k-1].Hi++
		} else {
			s = append(s, Range{p, p + 1})
		}
	}
	return s
}

func TestProcSetsAgreeWithSetsOfNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, twinA := drawSet(t, "a", nil)
		b, twinB := drawSet(t, "b", nil)
		if !a.IsValid(universe) {
			t.Fatalf("%v is not valid", a)
		}
		if a.CountProcs() != len(twinA) {
			t.Fatalf("%v counts %d, has %d", a, a.CountProcs(), len(twinA))
		}
		shared := 0
		for p := range twinA {
			if twinB[p] {
				shared++
			}
		}
		if got := a.Intersects(b); got != (shared > 0) {
			t.Fatalf("%v intersects %v: %v, they share %d", a, b, got, shared)
		}
	})
}

func TestTheUnionOfDisjointSetsHasTheMembersOfBoth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, twin := drawSet(t, "a", nil)
		b, twinB := drawSet(t, "b", twin)
		beforeA, beforeB := slices.Clone(a), slices.Clone(b)
		got := a.Union(b)
		for p := range twinB {
			twin[p] = true
		}
		if want := setOf(twin); !slices.Equal(got, want) || !got.IsValid(universe) {
			t.Fatalf("%v ∪ %v = %v, want %v", a, b, got, want)
		}
		if !slices.Equal(a, beforeA) || !slices.Equal(b, beforeB) {
			t.Fatal("the union changed its operands")
		}
	})
}

func TestLastSplitsOffTheHighestNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _ := drawSet(t, "s", nil)
		n := rapid.IntRange(-2, universe).Draw(t, "n")
		rest, last := s.SplitLast(n)
		if want := max(0, min(n, s.CountProcs())); last.CountProcs() != want {
			t.Fatalf("the last %d of %v are %v", n, s, last)
		}
		if len(rest) > 0 && len(last) > 0 && rest[len(rest)-1].Hi > last[0].Lo {
			t.Fatalf("%v is split into %v and %v", s, rest, last)
		}
		if back := rest.Union(last); !slices.Equal(back, s) && s.CountProcs() > 0 {
			t.Fatalf("%v is split into %v and %v, which give %v", s, rest, last, back)
		}
		if !rest.IsValid(universe) || !last.IsValid(universe) {
			t.Fatalf("%v or %v is not well formed", rest, last)
		}
	})
}

func TestOnlyWellFormedSetsWithinTheClusterAreValid(t *testing.T) {
	for _, c := range []struct {
		set  ProcSet
		want bool
	}{
		{nil, true},
		{ProcSet{{0, 8}}, true},
		{ProcSet{{0, 1}, {2, 8}}, true},
		{ProcSet{{0, 9}}, false},
		{ProcSet{{-1, 3}}, false},
		{ProcSet{{3, 3}}, false},
		{ProcSet{{3, 2}}, false},
		{ProcSet{{0, 2}, {1, 3}}, false},
		{ProcSet{{0, 2}, {2, 3}}, false}, // would be one range
		{ProcSet{{4, 5}, {0, 1}}, false},
	} {
		if got := c.set.IsValid(8); got != c.want {
			t.Errorf("%v within 8 processors is valid: %v", c.set, got)
		}
	}
}

func TestAProcSetIsWrittenAsItsRanges(t *testing.T) {
	for want, set := range map[string]ProcSet{
		"":          nil,
		"3":         {{3, 4}},
		"0-7":       {{0, 8}},
		"0-1,4,7-9": {{0, 2}, {4, 5}, {7, 10}},
	} {
		if got := set.String(); got != want {
			t.Errorf("%#v is written %q, want %q", set, got, want)
		}
	}
}

func FuzzParseProcSet(f *testing.F) {
	for _, text := range []string{"", "0", "0-3", "0-1,4", "3-1", "0,1", "1-", "-1", "2147483647", "0-2147483646", "x", ","} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, ok := ParseProcSet(text)
		if !ok {
			return
		}
		if !s.IsValid(math.MaxInt32) {
			t.Errorf("%q is %v", text, s)
		}
		if again, ok := ParseProcSet(s.String()); !ok || again.String() != s.String() {
			t.Errorf("%q is written as %q", text, s)
		}
	})
}

func TestWhatIsNoSetOfProcessorsIsNotRead(t *testing.T) {
	for _, text := range []string{"3-1", "0,1", "1-", "-1", "2147483647", "x", ",", "0-1,1", "0 "} {
		if s, ok := ParseProcSet(text); ok {
			t.Errorf("%q is %v", text, s)
		}
	}
	s, ok := ParseProcSet("0-1,4")
	if !ok || s.CountProcs() != 3 || NewProcSet([]int{4, 0, 1, 1}).String() != "0-1,4" || !slices.Equal(s.List(), []int{0, 1, 4}) {
		t.Errorf("%v, %v", s, ok)
	}
}
