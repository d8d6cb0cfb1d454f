package badinput

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTheNearestKnownNameIsSuggested(t *testing.T) {
	known := []string{"name", "hosts", "keep_free", "grow_free", "vu"}
	for name, want := range map[string]string{
		"host": "hosts", "HOSTS": "hosts", "keepfree": "keep_free", "gro_free": "grow_free", "nme": "name", "uv": "vu",
		"bandwidth":                "",
		strings.Repeat("name", 20): "", "": "",
	} {
		if got := NearestName(name, known); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestAMistypedWordFindsTheOneThatWasMeant(t *testing.T) {
	known := []string{"sim", "egs", "fcm", "trace", "malleable", "marginal"}
	for word, want := range map[string]string{
		"smi": "sim", "eggs": "egs", "trase": "trace", "malleabel": "malleable", "margnal": "marginal",
		"mallea": "malleable", "x": "", "EGS": "egs",
	} {
		if got := NearestName(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func TestWhatIsKnownIsListedInOneLine(t *testing.T) {
	var many []string
	for i := range 23 {
		many = append(many, "cluster"+strconv.Itoa(100+i))
	}
	for _, c := range []struct {
		known []string
		want  string
	}{
		{nil, "unknown x"},
		{[]string{"vu", "delft"}, "unknown x, known are vu, delft"},
		{many, "unknown x, known are " + strings.Join(many[:20], ", ") + " and 3 more"},
	} {
		if got := UnknownName("x", "zzz", c.known); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// slowEdits is the definition.
func slowEdits(a, b string) int {
	switch {
	case a == "" || b == "":
		return len(a) + len(b)
	case a[0] == b[0]:
		return slowEdits(a[1:], b[1:])
	}
	n := 1 + min(slowEdits(a[1:], b), slowEdits(a, b[1:]), slowEdits(a[1:], b[1:]))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		n = min(n, 1+slowEdits(a[2:], b[2:]))
	}
	return n
}

func TestEditsAreCountedAsDefined(t *testing.T) {
	word := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if got, want := editDistance(a, b), slowEdits(a, b); got != want {
			t.Fatalf("%q to %q: %d edits, want %d", a, b, got, want)
		}
	})
}
