package batchscript

import (
	"strconv"
	"strings"
	"time"
)

// ParseGridMoment reads [[CC]YY]MMDDhhmm[.SS].
func ParseGridMoment(s string, now time.Time) (time.Time, bool) {
	digits, seconds, has := strings.Cut(s, ".")
	if !has {
		seconds = "00"
	}
	switch len(digits) {
	case 8:
		digits = strconv.Itoa(now.Year()) + digits
	case 10:
		digits = "20" + digits
	}
	t, err := time.ParseInLocation("20060102150405", digits+seconds, now.Location())
	return t, err == nil
}
