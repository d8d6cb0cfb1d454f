package core

import (
	"fmt"
	"math"
	"strconv"
)

// FormatMemory writes an amount of memory or of disk to three digits, in binary units.
func FormatMemory(n int64) string {
	return formatUnits(float64(n), 1024, "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
}

// FormatBytes writes how much is sent or stored to three digits, in the decimal units in
// which networks are measured.
func FormatBytes(n int64) string {
	return formatUnits(float64(n), 1000, "B", "kB", "MB", "GB", "TB", "PB", "EB")
}

// FormatDigits writes a number to three digits, and to no more than four decimals.
func FormatDigits(x float64) string {
	decimals := max(0, 2-int(math.Floor(math.Log10(max(math.Abs(x), 0.01)))))
	scale := math.Pow(10, float64(decimals))
	return strconv.FormatFloat(math.Round(x*scale)/scale, 'f', -1, 64)
}

func formatUnits(x, step float64, units ...string) string {
	for len(units) > 1 && math.Abs(roundDigits(x)) >= 1000 {
		x, units = x/step, units[1:]
	}
	return strconv.FormatFloat(roundDigits(x), 'f', -1, 64) + " " + units[0]
}

// roundDigits rounds to three digits, but whole numbers stay what they are.
func roundDigits(x float64) float64 {
	scale := 1.0
	for size := math.Abs(x); size > 0 && size < 100 && scale < 100; size *= 10 {
		scale *= 10
	}
	return math.Round(x*scale) / scale
}

// FormatSeconds writes a time to as many digits as matter: 3.5 s, 47 s, 12 min, 3.2 h, 4.5 d.
func FormatSeconds(s float64) string {
	switch size := math.Abs(s); {
	case size < 10:
		return strconv.FormatFloat(math.Round(s*10)/10, 'f', -1, 64) + " s"
	case size < 120:
		return fmt.Sprintf("%.0f s", s)
	case size < 7200:
		return fmt.Sprintf("%.0f min", s/60)
	case size < 48*3600:
		return fmt.Sprintf("%.1f h", s/3600)
	}
	return fmt.Sprintf("%.1f d", s/(24*3600))
}
