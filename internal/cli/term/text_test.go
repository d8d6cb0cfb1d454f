package term

import "testing"

func TestTimesAreWrittenAsPeopleSayThem(t *testing.T) {
	for s, want := range map[float64]string{
		0: "0 s", 0.0123: "12.3 ms", 1: "1.00 s", 59.94: "59.9 s", 60: "1 min", 250: "4 min 10 s", 3599.7: "60 min",
		3600: "1 h", 11100: "3 h 5 min", 172800: "2 d", 1062000: "12 d 7 h", 1e9: "11,574 d 2 h",
	} {
		if got := FormatDuration(s); got != want {
			t.Errorf("%g s: got %q, want %q", s, got, want)
		}
	}
}

func TestNumbersHaveAsManyDigitsAsOneCanUse(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.01234: "0.0123", 1.234: "1.23", 12.34: "12.3", 1234.4: "1,234",
		-0.5: "-0.5"} {
		if got := FormatDigits(x); got != want {
			t.Errorf("%g: got %q, want %q", x, got, want)
		}
	}
	if got := FormatRate(28481, 0.1234); got != "230,000" {
		t.Errorf("rate: got %q", got)
	}
	if got := PluralNoun(1, "record") + ", " + PluralNoun(1200, "record"); got != "1 record, 1,200 records" {
		t.Errorf("plural: got %q", got)
	}
}
