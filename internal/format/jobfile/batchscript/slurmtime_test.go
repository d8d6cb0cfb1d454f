package batchscript

import (
	"testing"
	"time"
)

func TestTimesOfSlurm(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Minute, "1:30": 90 * time.Second, "1:2:3": time.Hour + 2*time.Minute + 3*time.Second,
		"2-3":    51 * time.Hour,
		"1-0:30": 24*time.Hour + 30*time.Minute, "1-1:1:1": 25*time.Hour + time.Minute + time.Second, "0": 0, "UNLIMITED": 0,
		"infinite": 0,
	} {
		if got, ok := ParseSlurmTime(text); !ok || got != want {
			t.Errorf("%s is %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "-5", "1:", ":1", "a", "1-", "1:2:3:4", "1-2:3:4:5", "+5", "99999999999999999999"} {
		if got, ok := ParseSlurmTime(text); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{ // it is noon of 1 March 2026, a Sunday
		"now": "2026-03-01 12:00:00", "now+1hour": "2026-03-01 13:00:00", "now+90": "2026-03-01 12:01:30",
		"now+2days": "2026-03-03 12:00:00",
		"16:00":     "2026-03-01 16:00:00", "11:00": "2026-03-02 11:00:00", "6:30PM": "2026-03-01 18:30:00",
		"teatime":  "2026-03-01 16:00:00",
		"tomorrow": "2026-03-02 00:00:00", "2026-05-31": "2026-05-31 00:00:00", "2026-05-31T18:30": "2026-05-31 18:30:00",
		"05/31": "2026-05-31 00:00:00", "05/31/27-06:15:01": "2027-05-31 06:15:01", "0131": "2027-01-31 00:00:00",
		"midnight": "2026-03-02 00:00:00",
	} {
		if got, ok := ParseSlurmMoment(text, noon); !ok || got.Format("2006-01-02 15:04:05") != want {
			t.Errorf("%s is %v, %v", text, got, ok)
		}
	}
}
