package term

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// printedLines is the lines of a table in a terminal of a width.
func printedLines(t *testing.T, x *Table, width int) []string {
	t.Helper()
	var b strings.Builder
	if err := x.PrintTable(&b, width); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > width {
			t.Errorf("a line of %d columns in a terminal of %d: %s", n, width, line)
		}
	}
	return lines
}

// A text in the last column is wrapped before anything else is left out.
func TestALastColumnOfTextTakesNoRoomFromTheOthers(t *testing.T) {
	x := NewTable("job", "name", "size", "what").AlignRight(0, 2)
	x.Shrinks, x.Optional = 1, []string{"size"}
	x.AddRow("7", "a-name-of-some-length", "12 MiB", strings.Repeat("results that are kept ", 6))
	if lines := printedLines(t, x, 80); !strings.Contains(lines[1], "a-name-of-some-length  12 MiB  results") || len(lines) < 4 {
		t.Errorf("%q", lines)
	}
}

// Names that are wider than the terminal are shortened, if nothing else can be.
func TestAColumnThatIsWiderThanTheTerminalIsShortened(t *testing.T) {
	x := NewTable("cluster", "state", "cores", "succeeded").AlignRight(2, 3)
	x.Optional = []string{"cores"}
	x.AddRow(strings.Repeat("far-away-", 9), "up", "12", "3 of 3")
	lines := printedLines(t, x, 60)
	if !strings.Contains(lines[1], "…") || !strings.HasSuffix(lines[1], "3 of 3") || strings.Contains(lines[0], "cores") {
		t.Errorf("%q", lines)
	}
}
