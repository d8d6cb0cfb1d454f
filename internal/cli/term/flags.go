package term

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// Checked is the value of a flag that is read and checked as soon as it is
// given. The error of parse is the phrase that says what would be right.
type Checked[T any] struct {
	to    *T
	kind  string // what the help calls it
	show  func(T) string
	parse func(string) (T, error)
}

// CheckedFlag is a flag whose value parse reads; show, if there is one, writes the default into the help.
func CheckedFlag[T any](to *T, kind string, show func(T) string, parse func(string) (T, error)) Checked[T] {
	return Checked[T]{to, kind, show, parse}
}

// String is the value as the help shows it; "" if it does not.
func (c Checked[T]) String() string {
	if c.to == nil || c.show == nil {
		return ""
	}
	return c.show(*c.to)
}

// Type is what the help calls the value.
func (c Checked[T]) Type() string { return c.kind }

// WithKind gives the value another name in the help.
func (c Checked[T]) WithKind(kind string) Checked[T] {
	c.kind = kind
	return c
}

// Set reads the value; the error of a wrong one says what would be right.
func (c Checked[T]) Set(text string) error {
	v, err := c.parse(text)
	if err == nil {
		*c.to = v
	}
	return err
}

// ChoiceFlag is a flag with a few names to choose from.
func ChoiceFlag(to *string, names ...string) Checked[string] {
	return Checked[string]{to, strings.Join(names, "|"), func(s string) string { return s },
		func(text string) (string, error) {
			for _, name := range names {
				if name == text {
					return text, nil
				}
			}
			want := JoinWords(names)
			if near := badinput.NearestName(text, names); near != "" {
				want += "; did you mean " + near + "?"
			}
			return "", errors.New(want)
		}}
}

// WholeNumberFlag is a flag with a whole number; 0 is not shown as its default.
func WholeNumberFlag(to *int, least, most int) pflag.Value {
	return Checked[int]{to, "N", strconv.Itoa, func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("a whole number from %d to %d", least, most)
		}
		return n, nil
	}}
}

// NumberFlag is a flag with a number.
func NumberFlag(to *float64, least, most float64) pflag.Value {
	show := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return Checked[float64]{to, "F", show, func(text string) (float64, error) {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x >= least && x <= most) {
			if least == math.SmallestNonzeroFloat64 {
				return 0, fmt.Errorf("a number above 0 and at most %g", most)
			}
			return 0, fmt.Errorf("a number from %g to %g", least, most)
		}
		return x, nil
	}}
}

// PositiveDurationFlag is a flag with a duration above 0.
func PositiveDurationFlag(to *time.Duration) pflag.Value {
	return Checked[time.Duration]{to, "TIME", nil, func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return 0, errors.New("a duration above 0, like 30s or 5m")
		}
		return d, nil
	}}
}

// DurationFlag is a flag with a duration that may be 0.
func DurationFlag(to *time.Duration) pflag.Value {
	return CheckedFlag(to, "TIME", nil, func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return 0, errors.New("a duration, like 1s or 500ms; 0s for none")
		}
		return d, nil
	})
}

// OutputFlag adds -o.
func OutputFlag(flags *pflag.FlagSet, to *string) {
	*to = "table"
	flags.VarP(ChoiceFlag(to, "table", "json"), "output", "o",
		"how results are printed: a table for people, JSON for programs")
}

// OutputGroup has -o and -h, which come last.
func OutputGroup(output *string) Group {
	g := NewGroup("Output")
	OutputFlag(g.Flags, output)
	g.Flags.BoolP("help", "h", false, "show this help")
	return g
}

// flagError turns what the flag parser says into the one line that all bad
// input gets.
func flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	var lacks *pflag.ValueRequiredError
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return err
	case errors.As(err, &invalid):
		return &badinput.Error{Field: "--" + invalid.GetFlag().Name, Value: invalid.GetValue(), Want: wantedValue(invalid)}
	case errors.As(err, &unknown):
		return unknownFlag(cmd, unknown)
	case errors.As(err, &lacks):
		return &badinput.Error{Field: "--" + lacks.GetFlag().Name, Problem: "needs a value"}
	}
	return &badinput.Error{Problem: err.Error()}
}

// wantedValue is what would be right in place of a wrong value.
func wantedValue(e *pflag.InvalidValueError) string {
	switch e.GetFlag().Value.Type() {
	case "bool":
		return "true or false"
	case "uint64":
		return "a whole number of at least 0"
	}
	return errors.Unwrap(e).Error()
}

func unknownFlag(cmd *cobra.Command, e *pflag.NotExistError) error {
	name := e.GetSpecifiedName()
	if short := e.GetSpecifiedShortnames(); short != "" {
		return &badinput.Error{Field: cmd.CommandPath() + ": unknown flag -" + short, Problem: "see " + cmd.CommandPath() +
			" --help"}
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	want := "see " + cmd.CommandPath() + " --help"
	if near := badinput.NearestName(name, known); near != "" {
		want = "did you mean --" + near + "?"
	}
	return &badinput.Error{Field: cmd.CommandPath() + ": unknown flag --" + name, Problem: want}
}
