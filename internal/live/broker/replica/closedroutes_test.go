package replica

import (
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestARouteThatFailedIsClosedForAWhileInOneDirection(t *testing.T) {
	var c ClosedRoutes
	now := core.AtSecond(100)
	c.NoteResult("leeds", "york", false, now)
	var again ClosedRoutes
	again.LoadJSON(c.EncodeJSON())
	if again.IsOpen("leeds", "york", now) || !again.IsOpen("york", "leeds", now) ||
		!again.IsOpen("leeds", "york", now.Add(time.Hour)) {
		t.Error("what is remembered of routes is not what was noted")
	}
	again.NoteResult("leeds", "york", true, now)
	if !again.IsOpen("leeds", "york", now) {
		t.Error("a route that worked is closed")
	}
	c.LoadJSON("rubbish")
	if !c.IsOpen("leeds", "york", now) {
		t.Error("rubbish is remembered")
	}
}
