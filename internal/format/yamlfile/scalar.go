package yamlfile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// Text is a single value as it is written; want says what should stand there.
func (v Value) Text(want string) string {
	if v.Kind() != Scalar {
		v.ReportWrong(want)
		return ""
	}
	return v.node.Value
}

// WholeNumber is a whole number, the bounds included.
func (v Value) WholeNumber(from, to int) int {
	return readScalar(v, fmt.Sprintf("a whole number from %d to %d", from, to), func(s string) (int, bool) {
		n, err := strconv.Atoi(s)
		return n, err == nil && n >= from && n <= to
	})
}

// Number is a decimal number, the bounds included.
func (v Value) Number(from, to float64) float64 {
	return readScalar(v, "a number from "+formatDecimal(from)+" to "+formatDecimal(to), func(s string) (float64, bool) {
		x, ok := ParseNumber(s)
		return x, ok && x >= from && x <= to
	})
}

// PositiveNumber is a decimal number above 0.
func (v Value) PositiveNumber(most float64) float64 {
	return readScalar(v, "a number above 0 and up to "+formatDecimal(most), func(s string) (float64, bool) {
		x, ok := ParseNumber(s)
		return x, ok && x > 0 && x <= most
	})
}

func formatDecimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// OneOf is one of some words.
func (v Value) OneOf(from ...string) string {
	return readScalar(v, "one of "+strings.Join(from, ", "),
		func(s string) (string, bool) { return s, slices.Contains(from, s) })
}

// Bool is true or false; yes, on and the like are not read.
func (v Value) Bool() bool {
	return readScalar(v, "true or false", func(s string) (bool, bool) { return s == "true", s == "true" || s == "false" })
}

// Size is a number of bytes with or without a unit, see ParseSize.
func (v Value) Size(from int64) int64 {
	return readScalar(v, "a number of bytes such as 4G, 512M or 4096", func(s string) (int64, bool) {
		n, ok := ParseSize(s)
		return n, ok && n >= from
	})
}

// Duration is a time, see ParseDuration.
func (v Value) Duration() time.Duration { return readScalar(v, WantDuration, ParseDuration) }

// PositiveDuration is a time above 0.
func (v Value) PositiveDuration() time.Duration {
	d := v.Duration()
	if d == 0 {
		v.ReportWrong("a time above 0, such as 30s")
	}
	return d
}

// Name is a name that can stand in commands, file names and tables without
// quoting.
func (v Value) Name() string {
	return readScalar(v, "a name of letters, digits and . _ - (at most 200)", func(s string) (string, bool) {
		ok := s != "" && len(s) <= 200
		for i := range len(s) {
			c := s[i]
			ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-')
		}
		return s, ok
	})
}

// ExistingFile is the path of a file that is named relative to the one in which
// the value stands; want says what should be in it.
func (v Value) ExistingFile(want string) string {
	name := v.Text(want)
	if v.HasFailed() {
		return ""
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(v.file.name), path)
	}
	if name == "" {
		v.ReportWrong(want)
	} else if _, err := os.Stat(path); err != nil {
		v.AdoptError(&badinput.Error{Value: name, Problem: badinput.WithoutPath(err).Error(), Want: want})
	}
	return path
}

// readScalar is a single value that parse accepts.
func readScalar[T any](v Value, want string, parse func(string) (T, bool)) T {
	if v.Kind() == Scalar {
		if t, ok := parse(v.node.Value); ok {
			return t
		}
	}
	v.ReportWrong(want)
	var zero T
	return zero
}
