package term

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/report/progress"
)

// FormatDigits writes a number with three significant digits or all before the
// point: 0.0123, 1.23, 12.3, 1,234.
func FormatDigits(x float64) string {
	switch size := math.Abs(x); {
	case size == 0:
		return "0"
	case size >= 100:
		return progress.FormatThousands(int64(math.Round(x)))
	case size >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case size >= 1:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// PluralNoun is a number of things: 1 job, 1,200 jobs.
func PluralNoun(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return progress.FormatThousands(n) + " " + noun + "s"
}

// FormatPercent writes a part of a whole in per cent.
func FormatPercent(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + " %" }

// FormatSeconds writes a time so that a column of them can be compared.
func FormatSeconds(x float64) string { return FormatDigits(x) + " s" }

// FormatDuration writes a time as people say it: 12 ms, 12.3 s, 4 min 10 s, 3 h 5 min,
// 12 d 7 h.
func FormatDuration(s float64) string {
	const minute, hour, day = 60, 3600, 24 * 3600
	switch {
	case s > 0 && s < 1:
		return FormatDigits(1000*s) + " ms"
	case s < minute:
		return FormatSeconds(s)
	case s < hour:
		return twoUnits(s, minute, "min", 1, "s")
	case s < 2*day:
		return twoUnits(s, hour, "h", minute, "min")
	}
	return twoUnits(s, day, "d", hour, "h")
}

func twoUnits(s, large float64, largeName string, small float64, smallName string) string {
	n := int64(math.Round(s / small))
	per := int64(large / small)
	if n%per == 0 {
		return fmt.Sprintf("%s %s", progress.FormatThousands(n/per), largeName)
	}
	return fmt.Sprintf("%s %s %d %s", progress.FormatThousands(n/per), largeName, n%per, smallName)
}

// FormatRate is how many of n there were in a second, to two digits: more would
// pretend to be exact.
func FormatRate(n int, s float64) string {
	x := float64(n) / math.Max(s, time.Microsecond.Seconds())
	unit := math.Pow(10, math.Max(0, math.Floor(math.Log10(math.Max(x, 1)))-1))
	return progress.FormatThousands(int64(math.Round(x/unit) * unit))
}

// MomentText is a moment on the user's clock, with the day if that is another.
func (a *App) MomentText(t *api.Time) string {
	if t == nil {
		return Unknown
	}
	now := a.Now()
	at := t.In(now.Location())
	if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return at.Format("15:04:05")
	}
	return at.Format("2006-01-02 15:04")
}
