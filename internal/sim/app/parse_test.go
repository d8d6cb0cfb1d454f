package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sim/app"
)

func TestASpeedupIsReadFromItsCompactForm(t *testing.T) {
	for text, want := range map[string]string{
		"linear":                 "linear",
		"amdahl:0.05":            "amdahl:0.05",
		"downey:A=64,sigma=1":    "downey:A=64,sigma=1",
		"downey:sigma=0.5,A=1.5": "downey:A=1.5,sigma=0.5",
		"table:4=420,2=600":      "table:2=600,4=420",
	} {
		s, err := app.ParseSpeedup("--speedup", text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := fmt.Sprint(s); got != want {
			t.Errorf("%s read as %s, want %s", text, got, want)
		}
	}
}

func TestAWrongSpeedupIsExplainedInOneLine(t *testing.T) {
	const (
		any    = "expected linear, amdahl:SERIAL, downey:A=64,sigma=1 or table:2=600,4=420"
		amdahl = "expected amdahl:SERIAL with the serial part between 0 and 1, like amdahl:0.05"
		downey = "expected downey:A=64,sigma=1 with the average parallelism A from 1 to 1e+09 and sigma from 0 to 1e+06"
		table  = "expected table:SIZE=SECONDS,…, like table:2=600,4=420"
	)
	for text, want := range map[string]string{
		"":                       `--speedup: ` + any,
		"gustafson":              `--speedup "gustafson": ` + any,
		"linear:2":               `--speedup "linear:2": ` + any,
		"amdahl":                 `--speedup "amdahl": ` + amdahl,
		"amdahl:1.5":             `--speedup "amdahl:1.5": ` + amdahl,
		"amdahl:NaN":             `--speedup "amdahl:NaN": ` + amdahl,
		"downey:64,1":            `--speedup "downey:64,1": ` + downey,
		"downey:A=64":            `--speedup "downey:A=64": ` + downey,
		"downey:A=0.5,sigma=1":   `--speedup "downey:A=0.5,sigma=1": ` + downey,
		"downey:A=2,sigma=-1":    `--speedup "downey:A=2,sigma=-1": ` + downey,
		"downey:A=2,A=3,sigma=1": `--speedup "downey:A=2,A=3,sigma=1": ` + downey,
		"downey:A=Inf,sigma=1":   `--speedup "downey:A=Inf,sigma=1": ` + downey,
		"table:":                 `--speedup "table:": ` + table,
		"table:2=600,x=3":        `--speedup "table:2=600,x=3": ` + table,
		"table:2=600,2=500":      `--speedup "table:2=600,2=500": ` + table + ": size 2 is given twice",
		"table:0=600":            `--speedup "table:0=600": ` + table + ": size 0 is not between 1 and 1073741824",
		"table:2=0": `--speedup "table:2=0": ` + table +
			": run time 0 of size 2 is not between 1e-09 and 1e+12 seconds",
		"table:9999999999999999999=1": `--speedup "table:9999999999999999999=1": ` + table,
	} {
		_, err := app.ParseSpeedup("--speedup", text)
		if !badinput.Is(err) || err.Error() != want {
			t.Errorf("%q\n got %v\nwant %s", text, err, want)
		}
	}
}

func FuzzParseSpeedup(f *testing.F) {
	for _, s := range []string{"linear", "amdahl:0.05", "downey:A=64,sigma=1", "table:2=600,4=420,46=240",
		"table:1=1e300,2=1e-300", "downey:A=1e9,sigma=1e6"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := app.ParseSpeedup("speedup", text)
		if err != nil {
			if !badinput.Is(err) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("not a one-line bad-input error: %q", err)
			}
			return
		}
		if s.SpeedupAt(1) != 1 || s.SpeedupAt(0) != 0 {
			t.Fatalf("%v: At(1) = %g, At(0) = %g", s, s.SpeedupAt(1), s.SpeedupAt(0))
		}
		for _, n := range []int{2, 3, 7, 64, 1000, 1 << 30} {
			if v := s.SpeedupAt(n); !(v > 0 && v <= 1e300) {
				t.Fatalf("%v: At(%d) = %g", s, n, v)
			}
		}
		again, err := app.ParseSpeedup("speedup", fmt.Sprint(s))
		if err != nil || fmt.Sprint(again) != fmt.Sprint(s) {
			t.Fatalf("%v does not read back: %v, %v", s, again, err)
		}
	})
}
