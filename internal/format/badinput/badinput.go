// Package badinput is the one shape in which Godwit tells a user that
// something they wrote is wrong: which file, which line, which field, which
// value, and what would be right. The command line turns such an error into a
// single line on stderr and exit code 2. It knows nothing about any format.
package badinput

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Error says where the input is wrong, how, and what would be right. Problem or
// Want is set; every other part may be empty.
type Error struct {
	File    string // the file as the user named it
	Line    int    // counted from 1; 0 when the whole file is meant
	Field   string // the field, column or flag
	Value   string // what stands there
	Problem string // what is wrong, as a statement: "no such directory"
	Want    string // what would be right, as a phrase: "a whole number of at least 1"
	Err     error  // the cause, if another package reported one
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
		b.WriteString(shownValue(e.Value) + ": ")
	}
	b.WriteString(e.problemMessage())
	switch {
	case e.Err == nil:
	case e.Want == "":
		fmt.Fprintf(&b, ": %v", e.Err)
	default:
		fmt.Fprintf(&b, " (%v)", e.Err)
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}

// shownValue is a value as a message repeats it: in quotes, so that one sees where
// it begins and ends, unless it is a plain path.
func shownValue(v string) string {
	if len(v) > maxValue {
		v = strings.ToValidUTF8(v[:maxValue], "") + "…"
	}
	path := strings.HasPrefix(v, "/") || strings.HasPrefix(v, "./") || strings.HasPrefix(v, "../")
	if quoted := strconv.Quote(v); !path || quoted != `"`+v+`"` || strings.ContainsAny(v, " :") {
		return quoted
	}
	return v
}

// problemMessage is what is wrong and what would be right.
func (e *Error) problemMessage() string {
	switch {
	case e.Want == "":
		return e.Problem
	case e.Problem != "":
		return e.Problem + ", expected " + e.Want
	case isStatement(e.Want):
		return e.Want
	}
	return "expected " + e.Want
}

// statements are how texts begin that say what is wrong, where a reader of a
// format passes on what it was told.
var statements = []string{"unknown ", "no ", "not ", "only ", "nothing ", "there ", "cannot ", "either ", "method ",
	"within ", "needs "}

// isStatement tells a text that says what is wrong from a phrase that says what
// would be right.
func isStatement(text string) bool {
	for _, s := range statements {
		if strings.HasPrefix(text, s) {
			return true
		}
	}
	head, _, _ := strings.Cut(text, ":")
	return strings.HasSuffix(head, " is missing") || strings.Contains(text, " is needed") ||
		strings.Contains(text, " are needed")
}

// UnreadableFile says that a file cannot be read, as the system says why.
func UnreadableFile(path string, err error) *Error {
	return &Error{Problem: "cannot read " + path, Err: WithoutPath(err)}
}

// UnwritableFile says that a file cannot be written, as the system says why.
func UnwritableFile(path string, err error) *Error {
	return &Error{Problem: "cannot write " + path, Err: WithoutPath(err)}
}

// ClipID shortens an id that would fill the terminal.
func ClipID(id string) string {
	if r := []rune(id); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return id
}

// WithoutPath is err without the path, which the message has already.
func WithoutPath(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

func (e *Error) Unwrap() error { return e.Err }

// Is reports whether err is the user's mistake rather than a failure of ours.
func Is(err error) bool {
	var e *Error
	return errors.As(err, &e)
}
