package core

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Range is the processors Lo up to but not including Hi of one cluster.
type Range struct{ Lo, Hi int32 }

// ProcSet is a set of processors of one cluster as ascending ranges that
// neither touch nor overlap. A processor is a core; a cluster numbers its
// processors host by host. Sets share memory, so none is changed in place.
type ProcSet []Range

// CountProcs is the number of processors in the set.
func (s ProcSet) CountProcs() int {
	n := 0
	for _, r := range s {
		n += int(r.Hi - r.Lo)
	}
	return n
}

// IsValid reports whether the set is well formed and within the first n
// processors.
func (s ProcSet) IsValid(n int) bool {
	last := int32(-1) // touching ranges would be one
	for _, r := range s {
		if r.Lo <= last || r.Hi <= r.Lo {
			return false
		}
		last = r.Hi
	}
	return int(last) <= n
}

// Intersects reports whether the two sets share a processor.
func (s ProcSet) Intersects(t ProcSet) bool {
	for i, j := 0, 0; i < len(s) && j < len(t); {
		if s[i].Lo < t[j].Hi && t[j].Lo < s[i].Hi {
			return true
		}
		if s[i].Hi <= t[j].Hi {
			i++
		} else {
			j++
		}
	}
	return false
}

// Union joins two disjoint sets.
func (s ProcSet) Union(t ProcSet) ProcSet {
	switch {
	case len(s) == 0:
		return t
	case len(t) == 0:
		return s
	}
	merged := make(ProcSet, 0, len(s)+len(t))
	for len(s) > 0 || len(t) > 0 {
		var r Range
		if len(t) == 0 || len(s) > 0 && s[0].Lo < t[0].Lo {
			r, s = s[0], s[1:]
		} else {
			r, t = t[0], t[1:]
		}
		if k := len(merged); k > 0 && merged[k-1].Hi == r.Lo {
			merged[k-1].Hi = r.Hi
		} else {
			merged = append(merged, r)
		}
	}
	return merged
}

// SplitLast splits off the n highest-numbered processors: what a job gives back
// when it shrinks. The set keeps the rest.
func (s ProcSet) SplitLast(n int) (rest, last ProcSet) {
	i := len(s)
	for i > 0 && n > 0 {
		size := int(s[i-1].Hi - s[i-1].Lo)
		if size > n { // in the middle of a range: both halves in one piece of memory
			both, cut := make(ProcSet, len(s)+1), s[i-1].Hi-int32(n)
			copy(both, s[:i])
			copy(both[i:], s[i-1:])
			both[i-1].Hi, both[i].Lo = cut, cut
			return both[:i:i], both[i:]
		}
		n -= size
		i--
	}
	if i > 0 {
		rest = s[:i:i]
	}
	if i < len(s) {
		last = s[i:]
	}
	return rest, last
}

// NewProcSet is the set of some processors.
func NewProcSet(procs []int) ProcSet {
	var s ProcSet
	for _, p := range slices.Sorted(slices.Values(procs)) {
		if n := len(s); n > 0 && int32(p) <= s[n-1].Hi {
			s[n-1].Hi = max(s[n-1].Hi, int32(p)+1)
		} else {
			s = append(s, Range{Lo: int32(p), Hi: int32(p) + 1})
		}
	}
	return s
}

// List is the processors one by one.
func (s ProcSet) List() []int {
	var list []int
	for _, r := range s {
		for p := r.Lo; p < r.Hi; p++ {
			list = append(list, int(p))
		}
	}
	return list
}

// ParseProcSet reads what String writes; false if it is something else.
func ParseProcSet(text string) (ProcSet, bool) {
	var s ProcSet
	for part := range strings.SplitSeq(text, ",") {
		if text == "" {
			break
		}
		first, last, isRange := strings.Cut(part, "-")
		lo, err := strconv.ParseInt(first, 10, 32)
		hi := lo
		if isRange && err == nil {
			hi, err = strconv.ParseInt(last, 10, 32)
		}
		if err != nil || lo < 0 || hi < lo || hi == math.MaxInt32 || len(s) > 0 && int32(lo) <= s[len(s)-1].Hi {
			return nil, false
		}
		s = append(s, Range{Lo: int32(lo), Hi: int32(hi) + 1})
	}
	return s, true
}

func (s ProcSet) String() string {
	var b strings.Builder
	for i, r := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(r.Lo)))
		if r.Hi-r.Lo > 1 {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(int(r.Hi - 1)))
		}
	}
	return b.String()
}
