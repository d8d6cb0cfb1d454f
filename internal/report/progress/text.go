package progress

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// lineText is the line for done units after elapsed time:
//
//	kth.swf.gz  42 %  12,000 of 28,480 jobs  6,000/s  3s left
func (l *Line) lineText(done int64, elapsed time.Duration) string {
	var parts []string
	if l.label != "" {
		parts = append(parts, l.label)
	}
	rate := 0.0
	if s := elapsed.Seconds(); s > 0 {
		rate = float64(done) / s
	}
	if l.total > 0 {
		share := min(100, 100*float64(done)/float64(l.total))
		parts = append(parts,
			// Rounded down: 100 % is said only when it is true.
			fmt.Sprintf("%d %%", int(share)),
			fmt.Sprintf("%s of %s %s", FormatThousands(done), FormatThousands(l.total), l.unit))
	} else {
		parts = append(parts, fmt.Sprintf("%s %s", FormatThousands(done), l.unit))
	}
	if rate > 0 {
		parts = append(parts, perSecond(rate))
		if left := l.total - done; l.total > 0 && left >= 0 {
			parts = append(parts, formatRemaining(float64(left)/rate)+" left")
		}
	}
	return strings.Join(parts, "  ")
}

// perSecond gives a rate enough digits to see it change.
func perSecond(rate float64) string {
	if rate < 10 {
		return strconv.FormatFloat(rate, 'f', 1, 64) + "/s"
	}
	return FormatThousands(int64(rate+0.5)) + "/s"
}

// formatRemaining rounds up to whole seconds, so that it never promises too much,
// and drops the seconds when there are hours.
func formatRemaining(seconds float64) string {
	const longest = 1000 * time.Hour
	if seconds >= longest.Seconds() {
		return "over 1000h"
	}
	d := time.Duration(seconds * float64(time.Second))
	if whole := d.Truncate(time.Second); whole < d {
		d = whole + time.Second
	}
	switch {
	case d >= time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%ds", d/time.Second)
	}
}

// FormatThousands writes n with commas: 28,480.
func FormatThousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}
