package plot

import (
	"math"
	"strconv"
	"strings"
)

// tickLabeller writes the values of ticks that are step apart and no larger than
// size, all of them with the same unit and the same number of decimals.
func (u Unit) tickLabeller(step, size float64) func(v float64) string {
	switch u {
	case Seconds:
		name, unit := "s", 1.0
		switch {
		case step >= day:
			name, unit = "d", day
		case step >= 3600:
			name, unit = "h", 3600
		case step >= 60:
			name, unit = "min", 60
		}
		plain := numberLabeller(step/unit, size/unit)
		return func(v float64) string {
			if v == 0 {
				return "0" // of any unit
			}
			return plain(v/unit) + " " + name
		}
	case Percent:
		plain := numberLabeller(step*100, size*100)
		return func(v float64) string { return plain(v*100) + " %" }
	default:
		return numberLabeller(step, size)
	}
}

// numberLabeller writes values with the decimals that step needs, with thousands
// separated, and very large or small ones as a power of ten.
func numberLabeller(step, size float64) func(v float64) string {
	magnitude := decimalExponent(size)
	decimals := max(0, -decimalExponent(step))
	if magnitude >= 7 || decimals > 5 {
		return scientificLabeller(magnitude, max(0, magnitude-decimalExponent(step)))
	}
	return func(v float64) string {
		text := strconv.FormatFloat(v, 'f', decimals, 64)
		whole, fraction, _ := strings.Cut(text, ".")
		if fraction != "" {
			fraction = "." + fraction
		}
		return withMinusSign(separateThousands(whole) + fraction)
	}
}

// scientificLabeller writes values as a multiple of ten to the same power.
func scientificLabeller(power, decimals int) func(v float64) string {
	return func(v float64) string {
		if v == 0 {
			return "0"
		}
		m := strconv.FormatFloat(v/math.Pow(10, float64(power)), 'f', min(decimals, 6), 64)
		if m == "1" {
			return "10" + superscriptOf(power)
		}
		return withMinusSign(m) + "×10" + superscriptOf(power)
	}
}

// decimalExponent is the power of ten of the first digit of v.
func decimalExponent(v float64) int {
	if v == 0 {
		return 0
	}
	return int(math.Floor(math.Log10(math.Abs(v)) + 1e-9))
}

// separateThousands separates the digits of a whole number, which may have a sign.
func separateThousands(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// withMinusSign sets a real minus sign, and none before zero.
func withMinusSign(s string) string {
	rest, negative := strings.CutPrefix(s, "-")
	if !negative || strings.Trim(rest, "0.,") == "" {
		return rest
	}
	return "−" + rest
}

func superscriptOf(n int) string {
	return strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴",
		"5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹").Replace(strconv.Itoa(n))
}
