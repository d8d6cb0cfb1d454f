// Package badinput is the one shape in which Godwit tells a user that
// something they wrote is wrong: which file, which line, which field, which
// value, and what would be right. The command line turns such an error into a
// single line on stderr and exit code 2. It knows nothing about any format.
package badinput

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Error says where the input is wrong and what would be right. Every part but
// Want may be empty.
type Error struct {
	File  string // the file as the user named it
	Line  int    // counted from 1; 0 when the whole file is meant
	Field string // the field, column or flag
	Value string // what stands there
	Want  string // what would be right, as a phrase: "a whole number of at least 1"
	Err   error  // the cause, if another package reported one
}

// maxValue bounds how much of a wrong value is repeated to the user, so that
// a binary file given by mistake does not fill the terminal.
const maxValue = 60

func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
		}
		b.WriteString(": ")
	}
	if e.Field != "" {
		b.WriteString(e.Field)
		if e.Value != "" {
			b.WriteByte(' ')
		} else {
			b.WriteString(": ")
		}
	}
	if e.Value != "" {
		v := e.Value
		if len(v) > maxValue {
			v = strings.ToValidUTF8(v[:maxValue], "") + "…"
		}
		b.WriteString(strconv.Quote(v))
		b.WriteString(": ")
	}
	b.WriteString(e.Want)
	if e.Err != nil {
		fmt.Fprintf(&b, " (%v)", e.Err)
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}

func (e *Error) Unwrap() error { return e.Err }

// Is reports whether err is the user's mistake rather than a failure of ours.
func Is(err error) bool {
	var e *Error
	return errors.As(err, &e)
}
