package lab

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
)

func TestAScenarioHappensAsWritten(t *testing.T) {
	s, err := ReadScenario("s.yaml", []byte(played))
	must(t, err)
	l := bedOf(t, s.Plan)
	var told strings.Builder
	tell := func(_ time.Duration, text string) { fmt.Fprintln(&told, text) }
	got, err := l.PlayScenario(context.Background(), s, Stage{Now: clock.RealClock(), Tell: tell})
	if err != nil || got.Steps != 8 || got.Checks != 2 || got.Failed != 1 {
		t.Errorf("played %+v, %v", got, err)
	}
	for _, want := range []string{"cut south\n", "  holds after", "  north2 | hello\n", "  north2 | no newline\n",
		"  north1 | tick\n", "  FAILED: ", "  head: not done within 200ms, ended\n", "  head: exit status 4\n"} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("the timeline lacks %q:\n%s", want, told.String())
		}
	}
	if site, err := l.findSite("south"); err != nil || !site.Cut || host(t, l, "north1").Load != 1 {
		t.Error("what was to be done was not")
	}
	// Interrupted, it ends at once.
	ctx, cancel := context.WithCancel(context.Background())
	long := &Scenario{Plan: s.Plan,
		Steps: []Step{{Run: "sleep 1000", On: HeadName, Stays: true}, {At: time.Hour, Do: []string{"cut", "north"}}}}
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := l.PlayScenario(ctx, long, Stage{Now: clock.RealClock(), Tell: tell}); err == nil {
		t.Error("interrupted, and nobody says so")
	}
	if err := l.DoVerb(context.Background(), []string{"load", "nowhere", "1"}); err == nil {
		t.Error("a host that does not exist was loaded")
	}
}
