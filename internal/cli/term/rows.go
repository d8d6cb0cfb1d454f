package term

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Rows collects the lines of a two-column table.
type Rows struct {
	Width         int // of the terminal; 0: it does not matter
	names, values []string
}

// AddRow adds a line: its name, and what stands beside it.
func (t *Rows) AddRow(name, format string, args ...any) {
	t.names = append(t.names, name)
	t.values = append(t.values, fmt.Sprintf(format, args...))
}

// WriteRows writes the lines, indented, the values below each other.
func (t *Rows) WriteRows(b *strings.Builder) {
	width := 0
	for _, name := range t.names {
		width = max(width, len(name))
	}
	for i, name := range t.names {
		if room := t.Width - width - 4; t.Width > 0 && utf8.RuneCountInString(t.values[i]) > room {
			lines := WrapText(t.values[i], max(MinLast, room))
			fmt.Fprintf(b, "  %-*s  %s\n", width, name, strings.Join(lines, "\n"+strings.Repeat(" ", width+4)))
			continue
		}
		fmt.Fprintf(b, "  %-*s  %s\n", width, name, t.values[i])
	}
}

// WriteCells aligns the first column left and the others right. Columns that do not fit
// the width follow below, beside the first once more.
func WriteCells(b *strings.Builder, cells [][]string, width int) {
	widths := make([]int, len(cells[0]))
	for _, row := range cells {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for from := 1; ; {
		to, room := from, width-widths[0]
		for to < len(widths) && (to == from || widths[to]+2 <= room) {
			room -= widths[to] + 2
			to++
		}
		for _, row := range cells {
			line := fmt.Sprintf("%-*s", widths[0], row[0])
			for i := from; i < to; i++ {
				line += strings.Repeat(" ", 2+widths[i]-utf8.RuneCountInString(row[i])) + row[i]
			}
			fmt.Fprintln(b, strings.TrimRight(line, " "))
		}
		if from = to; from >= len(widths) {
			return
		}
		b.WriteString("\n")
	}
}
