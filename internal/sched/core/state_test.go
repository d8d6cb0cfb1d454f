package core

import (
	"slices"
	"testing"
)

// legal is the state machine of spec 30 written out a second time: one line a
// state, the states it may go to.
var legal = map[State][]State{
	Unknown:    {Submitted},
	Submitted:  {Selected, Failed, Cancelled},
	Selected:   {Contracted, Staging, Queued, Submitted, Resuming, Failed, Cancelled},
	Contracted: {Staging, Queued, Submitted, Resuming, Failed, Cancelled},
	Staging:    {Queued, Submitted, Resuming, Failed, Cancelled},
	Queued:     {Running, Submitted, Resuming, Failed, Cancelled},
	Running:    {Stopping, Stopped, Done, Failed, Cancelled},
	Stopping:   {Stopping, Stopped, Running, Done, Failed, Cancelled},
	Stopped:    {Resuming, Failed, Cancelled},
	Resuming:   {Selected, Failed, Cancelled},
	Done:       nil,
	Failed:     nil,
	Cancelled:  nil,
}

func TestEveryTransitionIsLegalOrIllegalAsTheSpecSays(t *testing.T) {
	if len(legal) != int(numStates) {
		t.Fatalf("%d states are in the table, there are %d", len(legal), numStates)
	}
	for from := State(0); from < numStates+2; from++ {
		for to := State(0); to < numStates+2; to++ {
			if got, want := from.MayBecome(to), slices.Contains(legal[from], to); got != want {
				t.Errorf("%v may become %v: %v, want %v", from, to, got, want)
			}
		}
	}
}

func TestNothingLeadsOutOfAStateThatEndsALife(t *testing.T) {
	for s := Unknown; s < numStates; s++ {
		if s.IsTerminal() != (len(legal[s]) == 0) {
			t.Errorf("%v is terminal: %v, but goes to %v", s, s.IsTerminal(), legal[s])
		}
	}
}

func TestEveryStateThatIsNotTheEndCanBeCancelledOnceSubmitted(t *testing.T) {
	for s := Submitted; s < numStates; s++ {
		if !s.IsTerminal() && !s.MayBecome(Cancelled) {
			t.Errorf("%v cannot be cancelled", s)
		}
	}
}

func TestAJobWaitsToBePlacedAtFirstAndAgain(t *testing.T) {
	for s := Unknown; s < numStates; s++ {
		if got, want := s.IsWaiting(), s.MayBecome(Selected); got != want {
			t.Errorf("%v waits: %v, may be placed: %v", s, got, want)
		}
	}
}
