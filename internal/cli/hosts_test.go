package cli

import "testing"

func TestAManagersOwnWordStandsForUp(t *testing.T) {
	for _, c := range []struct{ state, why, want, note string }{
		{"up", "IDLE", "idle", ""}, {"up", "MIXED", "mixed", ""}, {"up", "", "up", ""},
		{"down", "NOT_RESPONDING", "down", "NOT_RESPONDING"},
		{"up", "drains", "up", "drains"},
	} {
		if got, note := hostStateText(c.state, c.why); got != c.want || note != c.note {
			t.Errorf("%s, %s: %q and %q, want %q and %q", c.state, c.why, got, note, c.want, c.note)
		}
	}
}
