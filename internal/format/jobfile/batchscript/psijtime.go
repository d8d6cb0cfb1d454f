package batchscript

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	psijUnit = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\d+(?:\.\d+)?)\s*([hms])$`)
	})
	psijDays = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(\d+) days?, (\d+:\d+:\d+(?:\.\d+)?)$`)
	})
	isoTime = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$`)
	})
)

// ParsePSIJTime reads a duration as PSI/J writes and accepts it: hh:mm:ss, hh:mm,
// minutes, a number with h, m or s, days as Python has them, and ISO 8601; a bare
// number, without quotes, is of seconds.
func ParsePSIJTime(text string, isText bool) (time.Duration, bool) {
	if m := psijDays().FindStringSubmatch(text); m != nil {
		days, ok1 := ParseUnits(m[1], 24*time.Hour)
		rest, ok2 := clockTime(m[2])
		return days + rest, ok1 && ok2
	}
	if m := psijUnit().FindStringSubmatch(text); m != nil {
		return parseFraction(m[1], map[string]time.Duration{"h": time.Hour, "m": time.Minute, "s": time.Second}[m[2]])
	}
	if m := isoTime().FindStringSubmatch(text); m != nil && len(text) > 2 {
		var total time.Duration
		for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
			if m[i+1] == "" {
				continue
			}
			d, ok := parseFraction(m[i+1], unit)
			if !ok {
				return 0, false
			}
			total += d
		}
		return total, total <= MaxTime
	}
	if strings.Contains(text, ":") {
		return clockTime(text)
	}
	if isText {
		return ParseUnits(text, time.Minute)
	}
	return parseFraction(text, time.Second)
}

// clockTime reads hh:mm and hh:mm:ss.
func clockTime(text string) (time.Duration, bool) {
	parts := strings.Split(text, ":")
	if len(parts) > 3 || len(parts) < 2 {
		return 0, false
	}
	total, ok := ParseUnits(parts[0], time.Hour)
	minutes, ok2 := ParseUnits(parts[1], time.Minute)
	total += minutes
	if len(parts) == 3 {
		seconds, ok3 := parseFraction(parts[2], time.Second)
		total += seconds
		ok = ok && ok3
	}
	return total, ok && ok2 && total <= MaxTime
}

// parseFraction is so many of a unit, not always whole.
func parseFraction(text string, unit time.Duration) (time.Duration, bool) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0) || x*float64(unit) > float64(MaxTime) {
		return 0, false
	}
	return time.Duration(x * float64(unit)), true
}
