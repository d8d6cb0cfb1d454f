package resched

import (
	"fmt"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

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
	nCodes
)

var codeNames = [nCodes]string{
	NothingKnown: "nothing-known", Safe: "safe", NowhereElse: "nowhere-else",
	NotClearlyBetter: "not-clearly-better", NothingEarlier: "nothing-earlier",
	MovesUsedUp: "moves-used-up", Resting: "resting",
	BetterChance: "better-chance", EndsEarlier: "ends-earlier",
}

func (c Code) String() string {
	if c < nCodes {
		return codeNames[c]
	}
	return "unknown"
}

// Why is the reason of a verdict with the numbers that led to it. Chances are
// negative where there is none.
type Why struct {
	Code             Code
	Stay, Go, Want   float64 // chances of meeting the deadline here, there, and as wanted
	LeftStay, LeftGo float64 // seconds left here and there, in the middle of what is expected
	To               core.ClusterID
	Moved            int
	SinceMove, Rest  float64
	MinGain          float64
}

// String is the reason as a sentence for people.
func (w Why) String() string {
	here := fmt.Sprintf("the chance of meeting its deadline here is %s (%s wanted)", formatPercent(w.Stay), formatPercent(w.Want))
	switch w.Code {
	case NothingKnown:
		return "stays: its remaining run time is unknown"
	case Safe:
		return "stays: " + here
	case NowhereElse:
		return "stays: " + here + ", but no other cluster can continue it"
	case NotClearlyBetter:
		return fmt.Sprintf("stays: %s and at best %s elsewhere; a migration must gain at least %.0f points",
			here, formatPercent(w.Go), 100*w.MinGain)
	case NothingEarlier:
		return fmt.Sprintf("stays: its deadline can no longer be met on any cluster; it ends in about %s here and, including the migration, in %s at best elsewhere",
			formatSpan(w.LeftStay), formatSpan(w.LeftGo))
	case MovesUsedUp:
		return fmt.Sprintf("stays: %s and %s elsewhere, but it has been migrated %d times already, the limit", here, formatPercent(w.Go), w.Moved)
	case Resting:
		return fmt.Sprintf("stays for now: %s and %s elsewhere, but it was migrated %s ago; no further migration within %s",
			here, formatPercent(w.Go), formatSpan(w.SinceMove), formatSpan(w.Rest))
	case BetterChance:
		return fmt.Sprintf("moves: %s, %s there, including the time of the migration", here, formatPercent(w.Go))
	case EndsEarlier:
		return fmt.Sprintf("moves: its deadline is probably missed wherever it runs (chance %s here, %s there), but there it ends earlier: in about %s instead of %s",
			formatPercent(w.Stay), formatPercent(w.Go), formatSpan(w.LeftGo), formatSpan(w.LeftStay))
	}
	return "unknown"
}

// formatPercent never says 0 or 100 of what is only almost so.
func formatPercent(p float64) string {
	switch {
	case p <= 0:
		return "0 %"
	case p < 0.01:
		return "below 1 %"
	case p >= 1:
		return "100 %"
	case p > 0.99:
		return "above 99 %"
	}
	return fmt.Sprintf("%.0f %%", 100*p)
}

// formatSpan is a time for people.
func formatSpan(s float64) string {
	switch {
	case s < 120:
		return fmt.Sprintf("%.0f s", s)
	case s < 7200:
		return fmt.Sprintf("%.0f min", s/60)
	}
	return fmt.Sprintf("%.1f h", s/3600)
}
