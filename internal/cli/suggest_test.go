package cli

import "testing"

func TestAMistypedWordFindsTheOneThatWasMeant(t *testing.T) {
	for _, c := range []struct{ word, want string }{
		{"smi", "sim"}, {"eggs", "egs"}, {"trase", "trace"}, {"malleabel", "malleable"}, {"margnal", "marginal"},
		{"mallea", "malleable"}, {"foo", ""}, {"x", ""}, {"", ""}, {"EGS", "egs"},
	} {
		if got := nearest(c.word, []string{"sim", "egs", "fcm", "trace", "malleable", "marginal"}); got != c.want {
			t.Errorf("%q: got %q, want %q", c.word, got, c.want)
		}
	}
}
