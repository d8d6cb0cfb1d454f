package app

import (
	"math/bits"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// Acceptance is what an application takes of an offer. The scheduler knows
// nothing of it: it offers a number, and learns what was accepted (paper 001,
// section VI-A: FT "accepts only the highest power of 2 processors that does
// not exceed the allocated number").
type Acceptance uint8

const (
	Any         Acceptance = iota // every size
	PowersOfTwo                   // 1, 2, 4, 8, … processors
)

var acceptanceNames = [...]string{Any: "any", PowersOfTwo: "powers-of-two"}

func (a Acceptance) String() string {
	if int(a) < len(acceptanceNames) {
		return acceptanceNames[a]
	}
	return "unknown"
}

// ParseAcceptance reads the name of an acceptance. The error is a
// *badinput.Error about the field named.
func ParseAcceptance(field, text string) (Acceptance, error) {
	for a, name := range acceptanceNames {
		if name == text {
			return Acceptance(a), nil
		}
	}
	return Any, &badinput.Error{Field: field, Value: text, Want: "any or powers-of-two"}
}

// UsableSize is how many of n processors it can use.
func (a Acceptance) UsableSize(n int) int {
	if n < 1 {
		return 0
	}
	if a == PowersOfTwo {
		return 1 << (bits.Len(uint(n)) - 1)
	}
	return n
}

// AcceptGrow is how many of the offered processors an application of the given size
// takes, if it may have most in all.
func (a Acceptance) AcceptGrow(size, offered, most int) int {
	if offered <= 0 || size >= most {
		return 0
	}
	room := min(offered, most-size)
	return clampSize(a.UsableSize(size+room)-size, 0, room)
}

// AcceptShrink is what an application of the given size, which cannot run below least,
// does when it must give up wanted processors: it accepts to give up as many
// of them as it can, and gives more back by itself if it cannot use what would
// be left. From 8 by 3, a powers-of-two application gives up 3 and another 1,
// because of 5 it can use only 4. It stays on a size that it can use, so it
// accepts less than wanted where the next such size lies below least.
func (a Acceptance) AcceptShrink(size, wanted, least int) (accepted, alsoGivenBack int) {
	least = a.atLeast(least)
	if wanted <= 0 || size <= least {
		return 0, 0
	}
	target := least
	if wanted < size-least {
		target = max(least, a.UsableSize(size-wanted))
	}
	gone := size - target
	accepted = clampSize(wanted, 0, gone)
	return accepted, gone - accepted
}

// atLeast is the smallest usable size that is not below n.
func (a Acceptance) atLeast(n int) int {
	if u := a.UsableSize(n); a == PowersOfTwo && u < n {
		return u << 1
	}
	return max(n, 1)
}

func clampSize(n, lo, hi int) int { return max(lo, min(n, hi)) }
