package term

import (
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Table is rows below a header, aligned. The last column takes what room is left
// and goes on in the next line where that is not enough.
type Table struct {
	Header  []string
	rows    [][]string
	notes   []string // below a row, on lines of their own; "": none
	toRight map[int]bool
	Sparse  bool // columns in which nothing stands are left out
	Shrinks int  // the column that is shortened where there is no room; -1: none
	// Optional are the columns that are left out where there is still no room, in this order.
	Optional []string
	// Paint, if there is one, colours a cell.
	Paint func(column, cell string) string
}

// NewTable makes a table with the names of its columns.
func NewTable(header ...string) *Table {
	return &Table{Header: header, toRight: map[int]bool{}, Shrinks: -1}
}

// AlignRight aligns columns of numbers.
func (t *Table) AlignRight(columns ...int) *Table {
	for _, c := range columns {
		t.toRight[c] = true
	}
	return t
}

// AddRow adds a row: a text for each column.
func (t *Table) AddRow(cells ...string) {
	t.rows, t.notes = append(t.rows, cells), append(t.notes, "")
}

// AddNote puts a text below the row that was added last.
func (t *Table) AddNote(text string) { t.notes[len(t.notes)-1] = text }

// MinLast is the least width of the last column before it is wrapped.
const MinLast = 24

// minShrunk is the least width of a column that is shortened.
const minShrunk = 8

// keepColumns is the table with some of its columns.
func (t *Table) keepColumns(wanted func(column int) bool) *Table {
	kept := &Table{toRight: map[int]bool{}, notes: t.notes, rows: make([][]string, len(t.rows)), Shrinks: -1,
		Paint: t.Paint, Optional: t.Optional}
	for i, name := range t.Header {
		if !wanted(i) {
			continue
		}
		if i == t.Shrinks {
			kept.Shrinks = len(kept.Header)
		}
		kept.toRight[len(kept.Header)] = t.toRight[i]
		kept.Header = append(kept.Header, name)
		for r := range t.rows {
			kept.rows[r] = append(kept.rows[r], t.rows[r][i])
		}
	}
	return kept
}

// withoutEmpty is the table without the columns in which nothing stands.
func (t *Table) withoutEmpty() *Table {
	if !t.Sparse {
		return t
	}
	return t.keepColumns(func(column int) bool {
		return column == 0 || slices.ContainsFunc(t.rows,
			func(row []string) bool { return row[column] != "" && row[column] != Unknown })
	})
}

// columnWidths are those of the columns.
func (t *Table) columnWidths() []int {
	widths := make([]int, len(t.Header))
	for _, row := range append([][]string{t.Header}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// fitWidth is the table without the optional columns for which there is no room, and the
// widths of the others.
func (t *Table) fitWidth(width int) (*Table, []int) {
	widths := t.columnWidths()
	for _, name := range t.Optional {
		if t.shrinkColumns(widths, width) {
			break
		}
		t = t.keepColumns(func(column int) bool { return t.Header[column] != name })
		widths = t.columnWidths()
	}
	if !t.shrinkColumns(widths, width) {
		t.shrinkWidest(widths, width)
	}
	return t, widths
}

// PrintTable writes the table so that it fits the width.
func (t *Table) PrintTable(w io.Writer, width int) error {
	t, widths := t.withoutEmpty().fitWidth(width)
	last := len(widths) - 1
	indent := 0
	for _, n := range widths[:last] {
		indent += n + 2
	}
	room := max(MinLast, width-indent)
	var b strings.Builder
	t.printRow(&b, t.Header, widths, indent, room, nil)
	for r, row := range t.rows {
		t.printRow(&b, row, widths, indent, room, t.Paint)
		if t.notes[r] != "" {
			for _, part := range WrapText(t.notes[r], max(MinLast, width-noteIndent)) {
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
func (t *Table) shrinkColumns(widths []int, width int) bool {
	if t.Shrinks >= 0 {
		widths[t.Shrinks] -= min(max(0, t.excessWidth(widths, width)), max(0, widths[t.Shrinks]-minShrunk))
	}
	return t.excessWidth(widths, width) <= 0
}

// shrinkWidest shortens the widest column of texts but the last, where nothing else helps.
func (t *Table) shrinkWidest(widths []int, width int) {
	widest := -1
	for i, n := range widths[:len(widths)-1] {
		if !t.toRight[i] && n > minShrunk && (widest < 0 || n > widths[widest]) {
			widest = i
		}
	}
	if widest >= 0 {
		widths[widest] = max(minShrunk, widths[widest]-t.excessWidth(widths, width))
	}
}

// excessWidth is how many columns of the terminal the table lacks. A text in the last column
// needs no more than it has when it is wrapped.
func (t *Table) excessWidth(widths []int, width int) int {
	last := len(widths) - 1
	over := -2 - width
	for i, n := range widths {
		if i == last && !t.toRight[last] {
			n = min(n, MinLast)
		}
		over += n + 2
	}
	return over
}

func (t *Table) printRow(b *strings.Builder, row []string, widths []int, indent, room int,
	paint func(column, cell string) string) {
	last := len(widths) - 1
	shown := func(i int, cell string) string {
		if paint == nil {
			return cell
		}
		return paint(t.Header[i], cell)
	}
	var line strings.Builder
	for i, cell := range row[:last] {
		cell = ShortenText(cell, widths[i])
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if t.toRight[i] {
			line.WriteString(pad + shown(i, cell) + "  ")
		} else {
			line.WriteString(shown(i, cell) + pad + "  ")
		}
	}
	for i, part := range WrapText(row[last], room) {
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

// ShortenText cuts a text to a width, with an ellipsis where something is missing.
func ShortenText(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	runes := []rune(text)
	return string(runes[:max(0, width-1)]) + "…"
}

// WrapText cuts a text into lines of at most width runes where it has spaces. It is
// one line at least.
func WrapText(text string, width int) []string {
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

// TerminalWidth is that of the terminal on which results are printed.
func (a *App) TerminalWidth() int { return WidthOf(a.Stdout, wide) }

// TableWidth is TerminalWidth; where there is no terminal, lines are as long as they need.
func (a *App) TableWidth() int { return WidthOf(a.Stdout, unlimitedWidth) }

// unlimitedWidth is a width that no line reaches.
const unlimitedWidth = 1 << 30

// WidthOf is how wide the terminal is that w writes to; otherwise if it is none.
func WidthOf(w io.Writer, otherwise int) int {
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
