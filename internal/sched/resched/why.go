package resched

// Code names a reason to stay or to go.
type Code uint8

const (
	NothingKnown     Code = iota // of how long it still takes
	Safe                         // the chance here is as good as wanted
	NowhereElse                  // no other place
	NotClearlyBetter             // the best other place is not clearly better
	NothingEarlier               // nobody can meet the deadline, and no place ends clearly earlier
	MovesUsedUp                  // moved as often as allowed
	Resting                      // moved a short while ago
	BetterChance                 // goes: the chance is clearly better there
	EndsEarlier                  // goes: the deadline is probably missed, but it ends clearly earlier there
)

// Why is the reason of a verdict with the numbers that led to it. Chances are
// negative where there is none.
type Why struct {
	Code             Code
	Stay, Go         float64 // chances of meeting the deadline here and there
	LeftStay, LeftGo float64 // seconds left here and there, in the middle of what is expected
	Moved            int
	SinceMove, Rest  float64
}
