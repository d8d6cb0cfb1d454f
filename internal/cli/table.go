package cli

import (
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// table is rows below a header, aligned. The last column takes what room is left
// and goes on in the next line where that is not enough.
type table struct {
	header  []string
	rows    [][]string
	notes   []string // below a row, on lines of their own; "": none
	toRight map[int]bool
	sparse  bool // columns in which nothing stands are left out
	shrinks int  // the column that is shortened where there is no room; -1: none
	// optional are the columns that are left out where there is still no room, in this order.
	optional []string
	paint    func(column, cell string) string
}

func newTable(header ...string) *table {
	return &table{header: header, toRight: map[int]bool{}, shrinks: -1}
}

// alignRight aligns columns of numbers.
func (t *table) alignRight(columns ...int) *table {
	for _, c := range columns {
		t.toRight[c] = true
	}
	return t
}

func (t *table) addRow(cells ...string) {
	t.rows, t.notes = append(t.rows, cells), append(t.notes, "")
}

// addNote puts a text below the row that was added last.
func (t *table) addNote(text string) { t.notes[len(t.notes)-1] = text }

// minLast is the least width of the last column before it is wrapped.
const minLast = 24

// minShrunk is the least width of a column that is shortened.
const minShrunk = 8

// keepColumns is the table with some of its columns.
func (t *table) keepColumns(wanted func(column int) bool) *table {
	kept := &table{toRight: map[int]bool{}, notes: t.notes, rows: make([][]string, len(t.rows)), shrinks: -1, paint: t.paint, optional: t.optional}
	for i, name := range t.header {
		if !wanted(i) {
			continue
		}
		if i == t.shrinks {
			kept.shrinks = len(kept.header)
		}
		kept.toRight[len(kept.header)] = t.toRight[i]
		kept.header = append(kept.header, name)
		for r := range t.rows {
			kept.rows[r] = append(kept.rows[r], t.rows[r][i])
		}
	}
	return kept
}

// withoutEmpty is the table without the columns in which nothing stands.
func (t *table) withoutEmpty() *table {
	if !t.sparse {
		return t
	}
	return t.keepColumns(func(column int) bool {
		return column == 0 || slices.ContainsFunc(t.rows, func(row []string) bool { return row[column] != "" && row[column] != unknown })
	})
}

// columnWidths are those of the columns.
func (t *table) columnWidths() []int {
	widths := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// fitWidth is the table without the optional columns for which there is no room, and the
// widths of the others.
func (t *table) fitWidth(width int) (*table, []int) {
	widths := t.columnWidths()
	for _, name := range t.optional {
		if t.shrinkColumns(widths, width) {
			break
		}
		t = t.keepColumns(func(column int) bool { return t.header[column] != name })
		widths = t.columnWidths()
	}
	t.shrinkColumns(widths, width)
	return t, widths
}

func (t *table) printTable(w io.Writer, width int) error {
	t, widths := t.withoutEmpty().fitWidth(width)
	last := len(widths) - 1
	indent := 0
	for _, n := range widths[:last] {
		indent += n + 2
	}
	room := max(minLast, width-indent)
	var b strings.Builder
	t.printRow(&b, t.header, widths, indent, room, nil)
	for r, row := range t.rows {
		t.printRow(&b, row, widths, indent, room, t.paint)
		if t.notes[r] != "" {
			for _, part := range wrapText(t.notes[r], max(minLast, width-noteIndent)) {
				b.WriteString(strings.Repeat(" ", noteIndent) + part + "\n")
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// noteIndent is how far a note stands to the right of its row.
const noteIndent = 5

// shrinkColumns makes the column that may be shortened as narrow as the terminal asks for, and
// says whether the table then fits.
func (t *table) shrinkColumns(widths []int, width int) bool {
	over := -2 - width
	for _, n := range widths {
		over += n + 2
	}
	if over > 0 && t.shrinks >= 0 {
		less := min(over, max(0, widths[t.shrinks]-minShrunk))
		widths[t.shrinks] -= less
		over -= less
	}
	return over <= 0
}

func (t *table) printRow(b *strings.Builder, row []string, widths []int, indent, room int, paint func(column, cell string) string) {
	last := len(widths) - 1
	shown := func(i int, cell string) string {
		if paint == nil {
			return cell
		}
		return paint(t.header[i], cell)
	}
	var line strings.Builder
	for i, cell := range row[:last] {
		cell = shortenText(cell, widths[i])
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if t.toRight[i] {
			line.WriteString(pad + shown(i, cell) + "  ")
		} else {
			line.WriteString(shown(i, cell) + pad + "  ")
		}
	}
	for i, part := range wrapText(row[last], room) {
		if i > 0 {
			line.Reset()
			line.WriteString(strings.Repeat(" ", indent))
		}
		if t.toRight[last] && i == 0 {
			line.WriteString(strings.Repeat(" ", max(0, widths[last]-utf8.RuneCountInString(part))))
		}
		b.WriteString(strings.TrimRight(line.String()+shown(last, part), " ") + "\n")
	}
}

// shortenText cuts a text to a width, with an ellipsis where something is missing.
func shortenText(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	runes := []rune(text)
	return string(runes[:max(0, width-1)]) + "…"
}

// wrapText cuts a text into lines of at most width runes where it has spaces. It is
// one line at least.
func wrapText(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	lines = append(lines, line)
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], hold, " ")
	}
	return lines
}

// wide is where lines end when nobody says how wide the terminal is: programs and
// files have room.
const wide = 160

// terminalWidth is that of the terminal on which results are printed.
func (a *app) terminalWidth() int { return widthOf(a.stdout, wide) }

func widthOf(w io.Writer, otherwise int) int {
	f, ok := w.(*os.File)
	if !ok {
		return otherwise
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 {
		return otherwise
	}
	return int(size.Col)
}
