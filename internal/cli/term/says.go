package term

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/report/progress"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Unknown stands for a number or a moment that is not known.
const Unknown = "–"

// SecondsText is a number of seconds as people say it.
func SecondsText(s *float64) string {
	if s == nil {
		return Unknown
	}
	return FormatDuration(*s)
}

// ChanceText is a chance in whole per cent, certain only if it is.
func ChanceText(p *float64) string {
	switch {
	case p == nil:
		return Unknown
	case *p >= 0.995 && *p < 1:
		return "> 99 %"
	case *p > 0 && *p < 0.005:
		return "< 1 %"
	}
	return strconv.Itoa(int(math.Round(100**p))) + " %"
}

// PartText is a part of a whole in whole per cent, rounded down.
func PartText(x *float64) string {
	if x == nil {
		return Unknown
	}
	return strconv.Itoa(int(100**x)) + " %"
}

// BytesText is a number of bytes as people say it.
func BytesText(n int64) string { return core.FormatMemory(n) }

// CodeText is an exit code.
func CodeText(code *int) string {
	if code == nil {
		return Unknown
	}
	return strconv.Itoa(*code)
}

// OrDash is a text, or a dash if there is none.
func OrDash(s string) string {
	if s == "" {
		return Unknown
	}
	return s
}

// JoinReason joins what was decided and why.
func JoinReason(choice, why string) string {
	switch {
	case why == "":
		return choice
	case choice == "":
		return why
	}
	return choice + ": " + why
}

// NumbersText lists the numbers behind a decision.
func NumbersText(inputs map[string]any) string {
	names := make([]string, 0, len(inputs))
	for name := range inputs {
		names = append(names, name)
	}
	sort.Strings(names)
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = strings.ReplaceAll(numberText(name, inputs[name]), " ", hold)
	}
	return strings.Join(parts, ", ")
}

// hold is a space at which a line is not broken, so that numbers keep their names
// and units. wrap makes a space of it again.
const hold = "\ue000"

// parts are the numbers that are parts of something, told in per cent.
var parts = map[string]bool{"chance": true, "share": true, "mean_share": true, "progress": true, "done": true,
	"confidence": true}

// numberText is one of them; a name that ends in _s is a time in seconds, one that
// begins with p_ a chance.
func numberText(name string, value any) string {
	label := strings.ReplaceAll(strings.TrimSuffix(name, "_s"), "_", " ")
	if label == "moves" {
		label = "migrations"
	}
	switch x := value.(type) {
	case float64:
		switch {
		case strings.HasSuffix(name, "_s"):
			return label + " " + FormatDuration(x)
		case strings.HasPrefix(name, "p_"):
			return "P(" + strings.ReplaceAll(name[2:], "_", " ") + ") " + ChanceText(&x)
		case parts[name]:
			return label + " " + ChanceText(&x)
		case strings.HasSuffix(name, "memory") || strings.HasSuffix(name, "bytes"):
			return label + " " + BytesText(int64(x))
		case x == math.Trunc(x) && math.Abs(x) < 1e15:
			return label + " " + progress.FormatThousands(int64(x))
		}
		return label + " " + FormatDigits(x)
	case map[string]any:
		return label + " (" + NumbersText(x) + ")"
	case []any:
		parts := make([]string, len(x))
		for i, v := range x {
			parts[i] = strings.TrimSpace(numberText("", v))
		}
		return label + " " + strings.Join(parts, " ")
	}
	return fmt.Sprintf("%s %v", label, value)
}
