package cli

import "testing"

func TestAManagersOwnWordStandsForUp(t *testing.T) {
	for _, c := range []struct{ state, why, want string }{
		{"up", "IDLE", "idle"}, {"up", "MIXED", "mixed"}, {"up", "", "up"},
		{"down", "NOT_RESPONDING", "down: NOT_RESPONDING"},
		{"up", "drains", "up: drains"},
	} {
		if got := hostStateText(c.state, c.why); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.state, c.why, got, c.want)
		}
	}
}
