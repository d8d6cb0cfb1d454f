package history

import (
	"math"
	"slices"
)

// EstimateBytes estimates how much a program reads and writes with these arguments:
// quantiles at Levels from runs that finished; nil if there are none, or if they
// moved next to nothing.
func EstimateBytes(rows []Run, program string, args []string) []float64 {
	const nothing = 1 << 20
	var logs []float64
	for i := range rows {
		r := &rows[i]
		if r.Program == program && r.Outcome == Finished && slices.Equal(r.Args, args) && r.Bytes > nothing {
			logs = append(logs, math.Log(r.Bytes))
		}
	}
	if len(logs) == 0 {
		return nil
	}
	mean, squares := meanAndSquares(logs)
	s := sameArgs.withObservations(squares, float64(len(logs)-1))
	s.sd = max(s.sd, leastSd)
	return logNormal(mean, s, 1+1/float64(len(logs)))
}

// DutyShare is the part of its processors that a program takes when it has them for
// itself: the most it has had in the mean over a whole run. 0 if it has not
// finished yet.
func DutyShare(rows []Run, program string) float64 {
	duty := 0.0
	for i := range rows {
		if r := &rows[i]; r.Program == program && r.Outcome == Finished {
			duty = max(duty, min(1, r.Share))
		}
	}
	return duty
}
