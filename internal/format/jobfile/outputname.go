package jobfile

import (
	"fmt"
	"strconv"
	"strings"
)

// Writer is the job whose output goes to a file.
type Writer struct {
	Job, Array int64 // its number, and that of its array; 0: it is in none
	Index      int   // in the array
	Again      int   // how often it was started again
	Name       string
	Host, User string
	NoIndex    string // stands for the index of a job that is in no array
}

// OutputName is the name of a file for a job, by Slurm's pattern: %j its number,
// %A that of its array, %a its index, %x its name, %N its host, %u its user, %r
// how often it was started again, %% a per cent sign; with a number between, as
// in %4a, padded with zeros. Any other % stands for itself.
func OutputName(pattern string, w Writer) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			b.WriteByte(pattern[i])
			continue
		}
		end := i + 1
		for end < len(pattern) && pattern[end] >= '0' && pattern[end] <= '9' {
			end++
		}
		text, ok := "", end < len(pattern)
		if ok {
			text, ok = w.expandSymbol(pattern[end])
		}
		if !ok {
			b.WriteByte('%')
			continue
		}
		b.WriteString(padNumber(text, pattern[i+1:end]))
		i = end
	}
	return b.String()
}

// symbols are the letters that mean something after a %.
const symbols = "jJAaxNurbsnt%"

func (w *Writer) expandSymbol(c byte) (string, bool) {
	switch c {
	case 'j', 'J':
		return fmt.Sprint(w.Job), true
	case 'A':
		if w.Array != 0 {
			return fmt.Sprint(w.Array), true
		}
		return fmt.Sprint(w.Job), true
	case 'a', 'b':
		return w.arrayIndex(c == 'b'), true
	case 'x':
		return w.Name, true
	case 'N':
		return strings.ReplaceAll(w.Host, "/", "_"), true // others name hosts: a name is no path
	case 'u':
		return w.User, true
	case 'r':
		return fmt.Sprint(w.Again), true
	case 's':
		return "batch", true
	case 'n', 't': // of the first host, the first process
		return "0", true
	case '%':
		return "%", true
	}
	return "", false
}

func (w *Writer) arrayIndex(lastDigit bool) string {
	switch {
	case w.Array == 0:
		return w.NoIndex
	case lastDigit:
		return fmt.Sprint(w.Index % 10)
	}
	return fmt.Sprint(w.Index)
}

// padNumber is a number with zeros before it; Slurm pads to ten digits at most.
func padNumber(text, width string) string {
	n, err := strconv.Atoi(width)
	if _, number := strconv.Atoi(text); err != nil || number != nil {
		return text
	}
	return strings.Repeat("0", max(0, min(n, 10)-len(text))) + text
}

// PlainName makes a pattern of a name in which % means nothing.
func PlainName(name string) string { return strings.ReplaceAll(name, "%", "%%") }

// UnknownSymbol finds a letter after % in a pattern that means nothing here.
func UnknownSymbol(pattern string) (string, bool) {
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			continue
		}
		for i++; i < len(pattern) && pattern[i] >= '0' && pattern[i] <= '9'; i++ {
		}
		if i >= len(pattern) {
			return "", true
		}
		if strings.IndexByte(symbols, pattern[i]) < 0 {
			return strings.ToValidUTF8(pattern[i:i+1], ""), true
		}
	}
	return "", false
}
