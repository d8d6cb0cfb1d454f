package batchscript

import (
	"strconv"
	"strings"
	"time"
)

// MaxTime bounds times: a hundred years is for ever.
const MaxTime = 100 * 365 * 24 * time.Hour

// ParseSlurmTime reads a time limit: minutes, minutes:seconds, hours:minutes:seconds,
// days-hours, days-hours:minutes, days-hours:minutes:seconds. 0 is none.
func ParseSlurmTime(s string) (time.Duration, bool) {
	switch strings.ToUpper(s) {
	case "INFINITE", "UNLIMITED", "-1":
		return 0, true
	}
	days, rest, dayed := strings.Cut(s, "-")
	if !dayed {
		days, rest = "0", s
	}
	parts := strings.Split(rest, ":")
	units := []time.Duration{time.Minute, time.Second}
	if dayed || len(parts) == 3 {
		units = []time.Duration{time.Hour, time.Minute, time.Second}
	}
	if len(parts) > len(units) {
		return 0, false
	}
	total, ok := ParseUnits(days, 24*time.Hour)
	for i, part := range parts {
		d, good := ParseUnits(part, units[i])
		ok = ok && good
		total += d
	}
	return total, ok && total <= MaxTime
}

// ParseUnits is so many of a unit.
func ParseUnits(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || text[0] == '+' || n > int64(MaxTime/unit) {
		return 0, false
	}
	return time.Duration(n) * unit, true
}

// ParseSlurmMoment reads a moment as --begin and --deadline have it: a time of day, a
// day, both, or now+2hours.
func ParseSlurmMoment(s string, now time.Time) (time.Time, bool) {
	if rest, ok := cutFold(s, "now"); ok {
		return fromNow(rest, now)
	}
	if day, clock, ok := dayAndTime(s, now); ok {
		return momentOfDay(day, clock, now)
	}
	return time.Time{}, false
}

// dayAndTime splits 2030-05-31T18:30, 05/31-18:30, 05/31 and 18:30.
func dayAndTime(s string, now time.Time) (day, clock string, ok bool) {
	if _, ok := slurmDay(s, now); ok {
		return s, "", true
	}
	if _, ok := slurmClock(s); ok {
		return "", s, true
	}
	if i := strings.LastIndexAny(s, "Tt- "); i > 0 {
		return s[:i], s[i+1:], true
	}
	return "", "", false
}

func momentOfDay(day, clock string, now time.Time) (time.Time, bool) {
	at := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	if day != "" {
		var ok bool
		if at, ok = slurmDay(day, now); !ok {
			return time.Time{}, false
		}
	}
	if clock == "" {
		return at, true
	}
	t, ok := slurmClock(clock)
	if !ok {
		return time.Time{}, false
	}
	at = time.Date(at.Year(), at.Month(), at.Day(), 0, 0, int(t/time.Second), 0, now.Location())
	if day == "" && !at.After(now) { // the next time it is so late
		at = at.AddDate(0, 0, 1)
	}
	return at, true
}

// fromNow reads what follows now: +2hours, nothing, +30.
func fromNow(rest string, now time.Time) (time.Time, bool) {
	if rest == "" {
		return now, true
	}
	number, ok := strings.CutPrefix(rest, "+")
	if !ok {
		return time.Time{}, false
	}
	end := 0
	for end < len(number) && number[end] >= '0' && number[end] <= '9' {
		end++
	}
	unit := time.Second
	if word := strings.ToLower(number[end:]); word != "" {
		unit = 0
		for name, d := range map[string]time.Duration{"seconds": time.Second, "minutes": time.Minute, "hours": time.Hour,
			"days": 24 * time.Hour, "weeks": 7 * 24 * time.Hour} {
			if strings.HasPrefix(name, word) { // in one word there is one that begins like it
				unit = d
			}
		}
	}
	if unit == 0 || end == 0 {
		return time.Time{}, false
	}
	d, ok := ParseUnits(number[:end], unit)
	return now.Add(d), ok
}

// slurmDay reads today, tomorrow, 2030-05-31, 05/31, 05/31/30, 05.31.30, 0531 and
// 053130. A day without a year is the next such day.
func slurmDay(s string, now time.Time) (time.Time, bool) {
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch strings.ToLower(s) {
	case "today":
		return today, true
	case "tomorrow":
		return today.AddDate(0, 0, 1), true
	}
	for _, layout := range []string{"2006-1-2", "1/2/06", "1.2.06", "010206"} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, true
		}
	}
	for _, layout := range []string{"1/2", "1.2", "0102"} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			at := time.Date(now.Year(), t.Month(), t.Day(), 0, 0, 0, 0, now.Location())
			if at.Before(today) {
				at = at.AddDate(1, 0, 0)
			}
			return at, true
		}
	}
	return time.Time{}, false
}

// slurmClock reads a time of day: 18:30, 18:30:15, 6:30PM, noon.
func slurmClock(s string) (time.Duration, bool) {
	text := strings.ToLower(strings.TrimSpace(s))
	switch text {
	case "midnight":
		return 0, true
	case "noon":
		return 12 * time.Hour, true
	case "elevenses":
		return 11 * time.Hour, true
	case "fika":
		return 15 * time.Hour, true
	case "teatime":
		return 16 * time.Hour, true
	}
	for _, layout := range []string{"15:04", "15:04:05", "3:04pm", "3:04:05pm", "3:04 pm", "3:04:05 pm", "3pm"} {
		if t, err := time.Parse(layout, text); err == nil {
			return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute +
				time.Duration(t.Second())*time.Second, true
		}
	}
	return 0, false
}

// cutFold cuts a word off the beginning, however it is capitalised.
func cutFold(s, word string) (string, bool) {
	if len(s) < len(word) || !strings.EqualFold(s[:len(word)], word) {
		return "", false
	}
	return s[len(word):], true
}
