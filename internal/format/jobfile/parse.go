package jobfile

import (
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/format/jobfile/batchscript"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Each of these reads one value as it is written in a file or behind a flag. The
// error is the phrase that says what would be right.

const (
	MaxProcs     = 1 << 20
	MaxArray     = 100_000
	MaxIndex     = math.MaxInt32
	maxProcesses = 1 << 22 // the kernel's own bound
	maxRetries   = 1000
	maxText      = 1 << 17 // what the kernel allows one argument
)

func parseName(s string) (string, error) {
	ok := s != "" && len(s) <= 200
	for _, c := range s {
		ok = ok && c < 0x80 && (isLetter(c) || c >= '0' && c <= '9' || strings.ContainsRune("._-", c))
	}
	if !ok {
		return "", errors.New("a name of letters, digits and . _ - (at most 200)")
	}
	return s, nil
}

func isLetter(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// ParseText checks a text that a program is given, such as an argument or a line.
func ParseText(s string) (string, error) {
	if s == "" || len(s) > maxText || strings.ContainsRune(s, 0) {
		return "", errors.New("a text (of at most 128 KiB, without NUL bytes)")
	}
	return s, nil
}

// parseLine reads a shell line as a command.
func parseLine(s string) ([]string, error) {
	text, err := ParseText(s)
	if err != nil {
		return nil, errors.New("a shell line")
	}
	return shellCommand(text), nil
}

// wantLimit says what parseLimit reads.
const wantLimit = "a time limit such as 90 (minutes), 1:30:00, 2-12:00 (days-hours:minutes), 30s, 10m or 1h30m"

// parseLimit reads a time limit as Slurm writes it, in which a number alone is
// minutes, or with units.
func parseLimit(s string) (time.Duration, error) {
	d, ok := batchscript.ParseSlurmTime(s)
	if strings.ContainsAny(s, "smhdw") {
		d, ok = yamlfile.ParseDuration(s)
	}
	if !ok || d <= 0 {
		return 0, errors.New(wantLimit)
	}
	return d, nil
}

func parseDuration(s string) (time.Duration, error) {
	d, ok := yamlfile.ParseDuration(s)
	if !ok || d <= 0 {
		return 0, errors.New("a time above 0 such as 30s, 10m, 1h30m, 2d or a number of seconds")
	}
	return d, nil
}

// parseGrace is a time that may be none.
func parseGrace(s string) (*time.Duration, error) {
	d, ok := yamlfile.ParseDuration(s)
	if !ok || d < 0 || d > maxGrace {
		return nil, errors.New("a time of at most an hour between SIGTERM and SIGKILL, such as 30s or 0")
	}
	return &d, nil
}

// maxGrace bounds the time that a cancelled program may take to end.
const maxGrace = time.Hour

// deadline is a time from submission, or a moment.
type deadline struct {
	in time.Duration
	by time.Time
}

const wantDeadline = "a time from submission such as 20m or 1h30m, or a moment such as 18:30 or 2030-05-31 18:30"

// momentLayouts are the ways to write a moment; those without a zone are in the
// local one.
var momentLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04",
	"2006-01-02 15:04:05Z07:00", "2006-01-02T15:04Z07:00", "2006-01-02 15:04Z07:00",
}

func parseDeadline(s string, now time.Time) (deadline, error) {
	if d, ok := yamlfile.ParseDuration(s); ok && d > 0 {
		return deadline{in: d}, nil
	}
	by, ok := parseMoment(s, now)
	switch {
	case !ok:
		return deadline{}, errors.New(wantDeadline)
	case !by.After(now):
		return deadline{}, fmt.Errorf("a moment to come; it is %s now",
			now.In(by.Location()).Format("2006-01-02 15:04:05 MST"))
	case by.Sub(now) > 100*365*24*time.Hour:
		return deadline{}, errors.New("a moment within a hundred years")
	}
	return deadline{in: by.Sub(now), by: by}, nil
}

// ParseDeadline reads a time from now, or a moment.
func ParseDeadline(text string, now time.Time) (time.Time, error) {
	d, err := parseDeadline(text, now)
	return now.Add(d.in), err
}

func parseMoment(s string, now time.Time) (time.Time, bool) {
	for _, layout := range momentLayouts {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, true
		}
	}
	// A time of day is the next such moment.
	for _, layout := range []string{"15:04", "15:04:05"} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, now.Location())
			if !at.After(now) {
				at = at.AddDate(0, 0, 1)
			}
			return at, true
		}
	}
	return time.Time{}, false
}

// CoreSpan is a number of processors, from and to.
type CoreSpan struct{ Min, Max int }

// ParseProcs reads 4 or 2-32.
func ParseProcs(s string) (CoreSpan, error) {
	low, high, ranged := strings.Cut(s, "-")
	from, err1 := strconv.Atoi(low)
	to, err2 := from, error(nil)
	if ranged {
		to, err2 = strconv.Atoi(high)
	}
	if err1 != nil || err2 != nil || from < 1 || to < from || to > MaxProcs {
		return CoreSpan{}, fmt.Errorf("a number of cores from 1 to %d, or two such as 2-32", MaxProcs)
	}
	return CoreSpan{from, to}, nil
}

// parseAtLeast reads 4 or 4+, which is the same to us: hosts may be larger.
func parseAtLeast(s string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSuffix(s, "+"))
	if err != nil || n < 1 || n > MaxProcs {
		return 0, fmt.Errorf("a number of cores of each host from 1 to %d, such as 4 or 4+", MaxProcs)
	}
	return n, nil
}

// parseMemory reads 2 or 2+, which are GiB, or a size with a unit.
func parseMemory(s string) (int64, error) {
	text := strings.TrimSpace(strings.TrimSuffix(s, "+"))
	if _, ok := yamlfile.ParseNumber(text); ok {
		text += "G"
	}
	n, ok := yamlfile.ParseSize(text)
	if !ok || n < 1 {
		return 0, errors.New("memory of each host such as 2+ or 2 (GiB), 512M or 1.5G")
	}
	return n, nil
}

func parseWhole(from, to int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < from || n > to {
			return 0, fmt.Errorf("a whole number from %d to %d", from, to)
		}
		return n, nil
	}
}

func parseConfidence(s string) (float64, error) {
	x, ok := yamlfile.ParseNumber(s)
	if !ok || x <= 0 || x >= 1 {
		return 0, errors.New("a chance above 0 and below 1, such as 0.95")
	}
	return x, nil
}

func parseReliability(s string) (float64, error) {
	x, ok := yamlfile.ParseNumber(s)
	if !ok || x < 0 || x >= 1 {
		return 0, errors.New("a part of the jobs from 0 to below 1, such as 0.8")
	}
	return x, nil
}

// parsePattern reads the pattern of progress in the output.
func parsePattern(s string) (string, error) {
	const want = `a pattern (RE2) with one group, per cent, or two, done and total, such as 'step (\d+)/(\d+)'`
	if s == "" || len(s) > maxText {
		return "", errors.New(want)
	}
	re, err := regexp.Compile(s)
	if err != nil {
		var bad *syntax.Error
		if errors.As(err, &bad) {
			return "", fmt.Errorf("%s; %s in %q", want, bad.Code, bad.Expr)
		}
		return "", errors.New(want)
	}
	if n := re.NumSubexp(); n != 1 && n != 2 {
		return "", fmt.Errorf("%s; this one has %d", want, n)
	}
	return s, nil
}

var kinds = []string{"rigid", "moldable", "malleable"}

func parseKind(s string) (core.Kind, error) {
	var k core.Kind
	if k.UnmarshalText([]byte(s)) != nil {
		return 0, errors.New("one of " + strings.Join(kinds, ", "))
	}
	return k, nil
}

var placements = []string{"wf", "cf", "cm", "fcm", "deadline"}

func parsePlace(s string) (core.PlacePolicy, error) {
	var p core.PlacePolicy
	if p.UnmarshalText([]byte(s)) != nil || p == core.PlaceDefault {
		return 0, errors.New("one of " + strings.Join(placements, ", "))
	}
	return p, nil
}

func parseAdapt(s string) (Adapt, error) {
	switch s {
	case "auto":
		return AdaptAuto, nil
	case "off":
		return AdaptOff, nil
	}
	return "", errors.New("auto (moved when the deadline is in danger) or off (only watched)")
}

// parseEvery reads how often a job is saved by itself.
func parseEvery(s string) (time.Duration, error) {
	switch s {
	case "auto":
		return 0, nil
	case "never":
		return Never, nil
	}
	if d, err := parseDuration(s); err == nil {
		return d, nil
	}
	return 0, errors.New("auto, never, or a time above 0 such as 10m")
}

// ParseSignal reads a signal that a program can catch.
func ParseSignal(s string) (string, error) {
	name := strings.TrimPrefix(s, "SIG")
	if name == "KILL" || name == "STOP" || name == "" || unix.SignalNum("SIG"+name) == 0 {
		return "", errors.New("a signal that a program can catch, such as USR1 or TERM")
	}
	return name, nil
}

// parseInside reads a path, or with * and ? a pattern of paths, within the work
// folder.
func parseInside(s string) (string, error) {
	clean := path.Clean(s)
	_, err := path.Match(clean, "")
	if s == "" || err != nil || strings.ContainsRune(s, 0) || path.IsAbs(clean) || clean == ".." ||
		strings.HasPrefix(clean, "../") {
		return "", errors.New("a path within the working directory, such as state.dat or out/*.csv")
	}
	return clean, nil
}

// parseVariable reads the name of an environment variable.
func parseVariable(s string) (string, error) {
	ok := s != ""
	for i, c := range s {
		ok = ok && (isLetter(c) || c == '_' || i > 0 && c >= '0' && c <= '9')
	}
	if !ok {
		return "", errors.New("a variable's name of letters, digits and _")
	}
	return s, nil
}
