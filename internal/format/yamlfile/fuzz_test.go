package yamlfile_test

import (
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// FuzzRead reads anything as a recipe and as nothing in particular: mistakes
// come as one line, and nothing takes long however aliases are knotted.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"name: pie\nserves: 3\nsteps: [a, &b b, *b]\namounts: {a: 1, 2: x}\nbake: 1h",
		"a: &a [*a, *a]", "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", "? [a]\n: {<<: {}}", "&a *a",
		"- !!null ''\n- !!binary x", "\ufeffname: x",
		"name: \"\\e\"\n\"\\n\": 1",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			return // beyond this a fuzzer finds nothing more
		}
		_, err := parse(string(data))
		oneLine(t, err)
		top, err := yamlfile.Parse("fuzz.yaml", "anything", data)
		if err != nil {
			oneLine(t, err)
			return
		}
		if n := walk(top); n > 100_001+2*len(data) {
			t.Fatalf("%d values out of %d bytes", n, len(data))
		}
		oneLine(t, top.Err())
	})
}

func oneLine(t *testing.T, err error) {
	if err != nil && (!badinput.Is(err) || strings.ContainsAny(err.Error(), "\n\r\x1b")) {
		t.Fatalf("not one line of bad input: %q", err)
	}
}

// walk visits every value, those behind aliases as often as they are named.
func walk(v yamlfile.Value) int {
	n := 1
	switch v.Kind() {
	case yamlfile.List:
		for item := range v.EachItem("anything") {
			n += walk(item)
		}
	case yamlfile.Mapping:
		for key, value := range v.EachEntry("anything") {
			n += walk(key) + walk(value)
		}
	case yamlfile.Scalar:
		v.Text("anything")
	}
	return n
}

// FuzzUnits reads anything as a number with a unit; what is accepted lies
// within the bounds.
func FuzzUnits(f *testing.F) {
	for _, s := range []string{"4G", "1.5TB", "1h30m", "250ms", "1e3", "-1", ".5", "9999999999d", "1E5EB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, ok := yamlfile.ParseSize(s); ok && (n < 0 || n > 1<<60) || !ok && n != 0 {
			t.Errorf("%q is %d bytes, %v", s, n, ok)
		}
		if d, ok := yamlfile.ParseDuration(s); ok && (d < 0 || d.Hours() > 36525*24) || !ok && d != 0 {
			t.Errorf("%q is %v, %v", s, d, ok)
		}
		if number, unit := yamlfile.CutUnit(s); !strings.HasPrefix(s, number) ||
			!strings.HasSuffix(strings.TrimSpace(s), unit) {
			t.Errorf("%q is cut into %q and %q", s, number, unit)
		}
	})
}
