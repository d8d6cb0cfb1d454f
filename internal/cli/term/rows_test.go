package term

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAMatrixOfManyHostsFitsTheTerminal(t *testing.T) {
	cells := [][]string{{""}}
	for i := range 16 {
		cells[0] = append(cells[0], fmt.Sprintf("host-%d", i))
		row := []string{fmt.Sprintf("host-%d", i)}
		for j := range 16 {
			row = append(row, fmt.Sprint(100*i+j))
		}
		cells = append(cells, row)
	}
	var b strings.Builder
	WriteCells(&b, cells, 80)
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for i := range 16 {
		if !strings.Contains(b.String(), fmt.Sprintf(" %d\n", 100*i+15)) {
			t.Errorf("the last of row %d is missing:\n%s", i, b.String())
		}
	}
}
