package yamlfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// recipe is a file with a field of every type.
type recipe struct {
	name, course, text string
	serves             int
	salt, spice        float64
	vegan              bool
	photo              int64
	bake, rest         time.Duration
	steps              []string
	amounts            []string // key=value
	seen               yamlfile.Value
}

func (r *recipe) read(top yamlfile.Value) {
	found := top.ReadMapping(
		yamlfile.StoreField("name", &r.name, yamlfile.Value.Name),
		yamlfile.ReadField("course", func(v yamlfile.Value) { r.course = v.OneOf("starter", "main", "dessert") }),
		yamlfile.ReadField("text", func(v yamlfile.Value) { r.text = v.Text("a text") }),
		yamlfile.ReadField("serves", func(v yamlfile.Value) { r.serves = v.WholeNumber(1, 100) }),
		yamlfile.ReadField("salt", func(v yamlfile.Value) { r.salt = v.Number(0, 0.5) }),
		yamlfile.ReadField("spice", func(v yamlfile.Value) { r.spice = v.PositiveNumber(1e6) }),
		yamlfile.StoreField("vegan", &r.vegan, yamlfile.Value.Bool),
		yamlfile.ReadField("photo", func(v yamlfile.Value) { r.photo = v.Size(1) }),
		yamlfile.StoreField("bake", &r.bake, yamlfile.Value.PositiveDuration),
		yamlfile.StoreField("rest", &r.rest, yamlfile.Value.Duration),
		yamlfile.ReadField("steps", func(v yamlfile.Value) {
			for item := range v.EachItem("steps") {
				r.steps = append(r.steps, item.Text("a step"))
			}
		}),
		yamlfile.ReadField("amounts", func(v yamlfile.Value) {
			for key, amount := range v.EachEntry("amounts by ingredient") {
				r.amounts = append(r.amounts, key.Text("an ingredient")+"="+amount.Text("an amount"))
			}
		}),
		yamlfile.DeferField("seen", &r.seen),
	)
	found.RequireField("name", "the recipe's name")
	if found.HasField("rest") && r.rest > r.bake {
		found.FailField("rest", r.rest.String(), "shorter than bake")
	}
}

func parse(text string) (*recipe, error) {
	top, err := yamlfile.Parse("r.yaml", "a recipe", []byte(text))
	if err != nil {
		return nil, err
	}
	r := &recipe{}
	r.read(top)
	return r, top.Err()
}

func TestEveryTypeIsRead(t *testing.T) {
	r, err := parse(`name: apple-pie
course: dessert
text: "7"
serves: 6
salt: 1e-2
spice: 0.5
vegan: true
photo: 1.5M
bake: 1h30m
rest: 90
steps: [peel, &c cut, *c]
amounts: {flour: 300 g, 3: x}
seen:
`)
	if err != nil {
		t.Fatal(err)
	}
	if !r.seen.IsGiven() || r.seen.Kind() != yamlfile.Blank || r.seen.Line() != 13 || r.seen.File() != "r.yaml" {
		t.Errorf("seen: %v, kind %v, line %d of %s", r.seen.IsGiven(), r.seen.Kind(), r.seen.Line(), r.seen.File())
	}
	r.seen = yamlfile.Value{}
	want := "{apple-pie dessert 7 6 0.01 0.5 true 1572864 5400000000000 90000000000 [peel cut cut] [flour=300 g 3=x]"
	if got := fmt.Sprint(*r); !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestMistakesAreOneLineWithLineFieldAndValue(t *testing.T) {
	const fields = "name, course, text, serves, salt, spice, vegan, photo, bake, rest, steps, amounts, seen"
	for _, c := range []struct{ text, want string }{
		{"", "r.yaml: the file is empty, expected a recipe"},
		{"# nothing", "r.yaml: the file is empty, expected a recipe"},
		{"---\n", "r.yaml: the file is empty, expected a recipe"},
		{"~", "r.yaml: the file is empty, expected a recipe"},
		{"a: [", "r.yaml:1: not valid YAML: did not find expected node content"},
		{"name: x\n\tserves: 3", "r.yaml:2: not valid YAML: found a tab character that violates indentation"},
		{"name: x\n--- \na: [", "r.yaml:3: not valid YAML: did not find expected node content"},
		{"name: *x", "r.yaml: not valid YAML: unknown anchor 'x' referenced"},
		{"name: x\n---\nname: y", "r.yaml:2: a second YAML document begins here, expected one"},
		{"pie", `r.yaml:1: "pie": expected a mapping of ` + fields},
		{"- pie", `r.yaml:1: "[…]": expected a mapping of ` + fields},

		{"name: x\nserve: 3", "r.yaml:2: serve: unknown field, did you mean serves?"},
		{"colour: red", "r.yaml:1: colour: unknown field, known are " + fields},
		{"[a]: 1", "r.yaml:1: […]: unknown field, known are " + fields},
		{"text: &a name\n*a : x\nname: y", "r.yaml:3: name: not twice: the field stands in line 2 already"},
		{"name: x\nname: x", "r.yaml:2: name: not twice: the field stands in line 1 already"},
		{"<<: {name: x}", "r.yaml:1: <<: not supported: merge keys; write the fields out"},
		{"serves: 3", "r.yaml:1: name: missing, expected the recipe's name"},
		{"name: x\nrest: 3s", `r.yaml:2: rest "3s": expected shorter than bake`},

		{"name: a b", `r.yaml:1: name "a b": expected a name of letters, digits and . _ - (at most 200)`},
		{"name: ''", "r.yaml:1: name: expected a name of letters, digits and . _ - (at most 200)"},
		{"name:", "r.yaml:1: name: expected a name of letters, digits and . _ - (at most 200)"},
		{"name: " + strings.Repeat("x", 201), `r.yaml:1: name "` + strings.Repeat("x", 60) +
			`…": expected a name of letters, digits and . _ - (at most 200)`},
		{"course: soup", `r.yaml:1: course "soup": expected one of starter, main, dessert`},
		{"text: {a: b}", `r.yaml:1: text "{…}": expected a text`},
		{"text: null", `r.yaml:1: text "null": expected a text`},
		{"serves: 0", `r.yaml:1: serves "0": expected a whole number from 1 to 100`},
		{"serves: 1.5", `r.yaml:1: serves "1.5": expected a whole number from 1 to 100`},
		{"serves: [1]", `r.yaml:1: serves "[…]": expected a whole number from 1 to 100`},
		{"salt: 0.6", `r.yaml:1: salt "0.6": expected a number from 0 to 0.5`},
		{"salt: .nan", `r.yaml:1: salt ".nan": expected a number from 0 to 0.5`},
		{"spice: 0", `r.yaml:1: spice "0": expected a number above 0 and up to 1000000`},
		{"spice: 0x1p3", `r.yaml:1: spice "0x1p3": expected a number above 0 and up to 1000000`},
		{"vegan: yes", `r.yaml:1: vegan "yes": expected true or false`},
		{"photo: 4X", `r.yaml:1: photo "4X": expected a number of bytes such as 4G, 512M or 4096`},
		{"photo: 0", `r.yaml:1: photo "0": expected a number of bytes such as 4G, 512M or 4096`},
		{"bake: 0", `r.yaml:1: bake "0": expected a time above 0, such as 30s`},
		{"bake: soon", `r.yaml:1: bake "soon": expected a time such as 30s, 10m, 1h30m, 2d or a number of seconds`},
		{"steps: peel", `r.yaml:1: steps "peel": expected a list of steps`},
		{"steps:\n  - peel\n  - [cut]", `r.yaml:3: steps[1] "[…]": expected a step`},
		{"amounts: [1]", `r.yaml:1: amounts "[…]": expected amounts by ingredient`},
		{"amounts:\n  flour: {}", `r.yaml:2: amounts.flour "{…}": expected an amount`},
		{"amounts:\n  [flour]: 3", `r.yaml:2: amounts "[…]": expected an ingredient`},
		{"amounts:\n  flour: 3\n  flour: 4", `r.yaml:3: amounts "flour": not twice: the key stands in line 2 already`},
		{"amounts:\n  <<: {a: b}", "r.yaml:2: amounts.<<: not supported: merge keys; write the fields out"},
	} {
		_, err := parse(c.text)
		if err == nil {
			t.Errorf("%q is accepted", c.text)
		} else if !badinput.Is(err) || err.Error() != c.want {
			t.Errorf("%q\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestTheFirstMistakeCountsAndEndsTheReading(t *testing.T) {
	r, err := parse("name: x\nserves: 0\nsteps: [a, b]\nvegan: maybe")
	if want := `r.yaml:2: serves "0": expected a whole number from 1 to 100`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if r.steps != nil {
		t.Errorf("went on to %v", r.steps)
	}
	r, err = parse("name: x\nsteps: [a, {}, b]")
	if err == nil || !slices.Equal(r.steps, []string{"a", ""}) {
		t.Errorf("read %q, %v", r.steps, err)
	}
}

// Paths are shown as they are, so they may not contain what a terminal obeys.
func TestKeysAreShownSafelyAndInPart(t *testing.T) {
	for _, c := range []struct{ key, want string }{
		{`"\e[31m"`, `r.yaml:1: "\x1b[31m": unknown field`},
		{`"a\nb"`, `r.yaml:1: "a\nb": unknown field`},
		{strings.Repeat("ä", 100), "r.yaml:1: " + strings.Repeat("ä", 30) + "…: unknown field"},
	} {
		if _, err := parse(c.key + ": 1"); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

func TestAMistakeBehindAnAliasIsToldWhereItIsUsed(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"text: &none 0\n\nserves: *none", `r.yaml:3: serves "0": expected a whole number from 1 to 100`},
		{"amounts: {all: &all x, b: [*all]}", `r.yaml:1: amounts.b "[…]": expected an amount`},
		{"seen: &list [a]\nvegan: *list", `r.yaml:2: vegan "[…]": expected true or false`},
		{"steps:\n  &s [a, *s]", `r.yaml:2: "*s": expected an alias of a value that does not contain it`},
		{"seen: &a {*a : b}", `r.yaml:1: "*a": expected an alias of a value that does not contain it`},
	} {
		if _, err := parse(c.text); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

func TestAliasesMayRepeatSoManyValuesAndNoMore(t *testing.T) {
	repeat := func(lists, items int) string {
		return "seen: &l [" + strings.Repeat("x, ", items) + "]\namounts: [" + strings.Repeat("*l, ", lists) + "]"
	}
	count := func(text string) (n int, err error) {
		top, err := yamlfile.Parse("r.yaml", "a recipe", []byte(text))
		if err != nil {
			return 0, err
		}
		top.ReadMapping(
			yamlfile.ReadField("seen", func(yamlfile.Value) {}),
			yamlfile.ReadField("amounts", func(v yamlfile.Value) {
				for item := range v.EachItem("lists") {
					for range item.EachItem("words") {
						n++
					}
				}
			}))
		return n, top.Err()
	}
	if n, err := count(repeat(100, 999)); n != 99_900 || err != nil {
		t.Errorf("%d values, %v", n, err)
	}
	n, err := count(repeat(3000, 3000))
	if want := "r.yaml:1: expected at most 100000 values behind aliases"; err == nil || err.Error() != want ||
		n > 100_000 {
		t.Errorf("%d values, %v", n, err)
	}
}

func TestWhatIsLeftOutCanBeAskedForItsKind(t *testing.T) {
	var v yamlfile.Value
	if v.IsGiven() || v.Kind() != yamlfile.Blank || v.Len() != 0 {
		t.Errorf("%v, kind %v, %d elements", v.IsGiven(), v.Kind(), v.Len())
	}
	for text, want := range map[string]struct {
		kind yamlfile.Kind
		len  int
	}{
		"seen:": {yamlfile.Blank, 0}, "seen: ~": {yamlfile.Blank, 0}, "seen: x": {yamlfile.Scalar, 0},
		"seen: ''":     {yamlfile.Scalar, 0},
		"seen: [a, b]": {yamlfile.List, 2}, "seen: {a: b}": {yamlfile.Mapping, 1}, "seen: []": {yamlfile.List, 0},
		"seen: ok\ntext: &a [x]\nsteps: *a": {yamlfile.Scalar, 0},
	} {
		r, _ := parse(text)
		if r.seen.Kind() != want.kind || r.seen.Len() != want.len || !r.seen.IsGiven() {
			t.Errorf("%q: kind %v with %d elements", text, r.seen.Kind(), r.seen.Len())
		}
	}
}

func TestErrorsOfOthersGetThePlaceOfTheValue(t *testing.T) {
	plain := errors.New("plain")
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, "<nil>"},
		{&badinput.Error{Value: "v", Want: "w"}, `r.yaml:2: seen "v": expected w`},
		{&badinput.Error{Field: "seen", Value: "v", Want: "w"}, `r.yaml:2: seen "v": expected w`},
		{&badinput.Error{Field: "below", Want: "w", Err: plain}, `r.yaml:2: seen.below: expected w (plain)`},
		{&badinput.Error{File: "other.yaml", Line: 7, Field: "x", Want: "w"}, `other.yaml:7: x: expected w`},
		{fmt.Errorf("at work: %w", &badinput.Error{Want: "w"}), `r.yaml:2: seen: expected w`},
		{plain, "plain"},
	} {
		r, err := parse("name: x\nseen: 1")
		if err != nil {
			t.Fatal(err)
		}
		r.seen.AdoptError(c.err)
		r.seen.AdoptError(errors.New("a second one"))
		if c.err == nil {
			continue
		}
		if got := r.seen.Err(); got == nil || got.Error() != c.want {
			t.Errorf("got  %v\nwant %s", got, c.want)
		}
	}
}

func TestFilesAreNamedRelativeToTheFileThatNamesThem(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "there.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "r.yaml")
	for text, want := range map[string]string{
		"there.txt":                     filepath.Join(dir, "there.txt"),
		filepath.Join(dir, "there.txt"): filepath.Join(dir, "there.txt"),
		"nowhere.txt":                   name + `:1: "nowhere.txt": no such file or directory, expected a text file`,
		"''":                            name + `:1: expected a text file`,
		"[a]":                           name + `:1: "[…]": expected a text file`,
	} {
		top, err := yamlfile.Parse(name, "a recipe", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := top.ExistingFile("a text file")
		if err := top.Err(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

func TestAFileIsReadUpToItsLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.yaml")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := yamlfile.ReadFile(path, "a recipe", 1<<20); len(data) != 1<<20 || err != nil {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if err := os.WriteFile(path, make([]byte, 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := yamlfile.ReadFile(path, "a recipe", 1<<20)
	if want := path + ": too large for a recipe: more than 1 MB"; !badinput.Is(err) || err.Error() != want {
		t.Errorf("got %v", err)
	}
	_, err = yamlfile.ReadFile("nowhere.yaml", "a recipe", 1<<20)
	if want := "cannot read nowhere.yaml: no such file or directory"; !badinput.Is(err) || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
