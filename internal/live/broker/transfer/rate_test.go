package transfer

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/observe/history"
)

// As long as nothing has gone from one site to the other, that is expected to be quicker than
// through the broker, whatever went there and came from there.
func TestAWayOfWhichNothingIsKnownIsExpectedToBeQuickerThanThroughTheBroker(t *testing.T) {
	for what, rows := range map[string][]history.Transfer{
		"nothing":     nil,
		"small files": {{From: "north", Sent: 1 << 20, Seconds: 0.1}, {To: "south", Sent: 1 << 20, Seconds: 0.1}},
		"a large one that was slow": {{From: "north", Sent: 1 << 20, Seconds: 0.1},
			{From: "north", Sent: 1 << 20, Seconds: 0.1}, {From: "north", Sent: 32 << 20, Seconds: 25},
			{To: "south", Sent: 1 << 20, Seconds: 0.1}},
	} {
		m := NewMover(&fakeGrid{}, nil, nil)
		const size = 24 << 20
		direct := size / m.directRate(rows, "north", "south")
		through := size/m.transferRate(rows, "north", "", false) + size/m.transferRate(rows, "", "south", false)
		if direct >= through {
			t.Errorf("%s: directly in %.1f s, through the broker in %.1f s", what, direct, through)
		}
	}
}
