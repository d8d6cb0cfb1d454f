package yamlfile

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseNumber reads a decimal number; NaN and the infinities are none.
func ParseNumber(s string) (float64, bool) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || strings.ContainsAny(s, "xXpP_") {
		return 0, false
	}
	return v, true
}

// sizeUnits are powers of 1024 for K, M, G, T, P, as the batch systems read
// them, and powers of 1000 where a B follows.
var sizeUnits = map[string]float64{
	"": 1, "B": 1,
	"K": 1 << 10, "Ki": 1 << 10, "KiB": 1 << 10, "kB": 1e3, "KB": 1e3,
	"M": 1 << 20, "Mi": 1 << 20, "MiB": 1 << 20, "MB": 1e6,
	"G": 1 << 30, "Gi": 1 << 30, "GiB": 1 << 30, "GB": 1e9,
	"T": 1 << 40, "Ti": 1 << 40, "TiB": 1 << 40, "TB": 1e12,
	"P": 1 << 50, "Pi": 1 << 50, "PiB": 1 << 50, "PB": 1e15,
}

// maxSize is the largest memory or file: 1 EiB.
const maxSize = 1 << 60

// ParseSize reads a number of bytes such as 4G, 1.5TB or 4096.
func ParseSize(s string) (int64, bool) {
	number, unit := CutUnit(s)
	scale, ok := sizeUnits[unit]
	if !ok {
		return 0, false
	}
	v, ok := ParseNumber(number)
	v *= scale
	if !ok || v < 0 || v > maxSize {
		return 0, false
	}
	return int64(math.Round(v)), true
}

// CutUnit cuts s where its leading number ends. An E belongs to the number
// only when digits follow, so that 5EBps is five exabytes and 1.25E9Bps is not.
func CutUnit(s string) (number, unit string) {
	i := 0
	digits := func() bool {
		from := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	digits()
	if i < len(s) && s[i] == '.' {
		i++
		digits()
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		mark := i
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			i = mark
		}
	}
	return s[:i], strings.TrimSpace(s[i:])
}

var durationUnits = map[string]time.Duration{
	"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour,
	"d": 24 * time.Hour, "w": 7 * 24 * time.Hour,
}

// maxDuration is a century, so that sums of a few fit.
const maxDuration = 36525 * 24 * time.Hour

// WantDuration says what ParseDuration reads.
const WantDuration = "a time such as 30s, 10m, 1h30m, 2d or a number of seconds"

// ParseDuration reads 1.5h, 1h30m, 2d, 250ms; a number alone is seconds. What
// follows a unit needs one too: 1h30 could be minutes or seconds.
func ParseDuration(s string) (time.Duration, bool) {
	const digits, letters = "0123456789.", "smhdw"
	sum, parts := 0.0, 0
	for rest := s; rest != "" || parts == 0; parts++ {
		after := strings.TrimLeft(rest, digits)
		number := rest[:len(rest)-len(after)]
		rest = strings.TrimLeft(after, letters)
		unit := after[:len(after)-len(rest)]
		if unit == "" && parts == 0 && rest == "" {
			unit = "s"
		}
		scale, known := durationUnits[unit]
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || !known {
			return 0, false
		}
		sum += v * float64(scale)
	}
	if sum > float64(maxDuration) {
		return 0, false
	}
	return time.Duration(math.Round(sum)), true
}
