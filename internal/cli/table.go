package cli

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// table is rows below a header, aligned. The last column takes what room is left
// and goes on in the next line where that is not enough.
type table struct {
	header  []string
	rows    [][]string
	toRight map[int]bool
}

func newTable(header ...string) *table { return &table{header: header, toRight: map[int]bool{}} }

// right aligns columns of numbers.
func (t *table) right(columns ...int) *table {
	for _, c := range columns {
		t.toRight[c] = true
	}
	return t
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// minLast is the least width of the last column before it is wrapped.
const minLast = 24

func (t *table) print(w io.Writer, width int) error {
	widths := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	last := len(widths) - 1
	indent := 0
	for _, n := range widths[:last] {
		indent += n + 2
	}
	room := max(minLast, width-indent)
	var b strings.Builder
	for _, row := range append([][]string{t.header}, t.rows...) {
		var line strings.Builder
		for i, cell := range row[:last] {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if t.toRight[i] {
				line.WriteString(pad + cell + "  ")
			} else {
				line.WriteString(cell + pad + "  ")
			}
		}
		for i, part := range wrap(row[last], room) {
			if i > 0 {
				line.Reset()
				line.WriteString(strings.Repeat(" ", indent))
			}
			b.WriteString(strings.TrimRight(line.String()+part, " ") + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// wrap cuts a text into lines of at most width runes where it has spaces. It is
// one line at least.
func wrap(text string, width int) []string {
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

// width is that of the terminal on which results are printed.
func (a *app) width() int { return widthOf(a.stdout, wide) }

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
