package jobfile

import (
	"testing"
	"time"
)

func TestTimeLimitsAreReadAsSlurmReadsThem(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"5": 5 * time.Minute, "5:30": 5*time.Minute + 30*time.Second, "1:00:00": time.Hour, "2-0:00": 48 * time.Hour,
		"1-12": 36 * time.Hour,
		"30s":  30 * time.Second, "10m": 10 * time.Minute, "1h30m": 90 * time.Minute, "2d": 48 * time.Hour,
	} {
		if got, err := parseLimit(text); err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "1:2:3:4", "1h30", "soon", "UNLIMITED"} {
		if got, err := parseLimit(text); err == nil {
			t.Errorf("%q is %v, want it refused", text, got)
		}
	}
}

func TestAShellLineIsNamedAfterItsFirstProgram(t *testing.T) {
	for line, want := range map[string]string{
		"for i in 1 2; do ./solve $i; done": "solve", "i=0; while [ $i -lt 9 ]; do i=$((i+1)); done": "sh",
		"hostname; ls":               "hostname",
		"cd /x && python3 pi.py 200": "pi.py", "exit 7": "sh", "set -e; make -j4": "make", "sleep 5": "sleep",
		"sleep 1; ./after": "after", "if": "sh",
		"echo hi > out": "echo",
	} {
		if got := DefaultName([]string{"sh", "-c", line}); got != want {
			t.Errorf("%s is called %s, want %s", line, got, want)
		}
	}
}
