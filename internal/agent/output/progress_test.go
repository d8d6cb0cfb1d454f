package output

import (
	"regexp"
	"strings"
	"testing"
)

func TestProgressIsTheLastWholeLineThatSaysIt(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		done, of      float64
		ok            bool
	}{
		{`step (\d+)/(\d+)`, "step 1/10\nstep 2/10\nother\n", 2, 10, true},
		{`step (\d+)/(\d+)`, "step 1/10\nstep 2/1", 1, 10, true}, // the end of the line is not there yet
		{`step (\d+)/(\d+)`, "step 1/10\rstep 7/10\r", 7, 10, true},
		{`([\d.]+) ?%`, "12.5 % done\n", 12.5, 100, true},
		{`([\d.]+)%`, "3.4.5%\nnothing\n", 0, 0, false},
		{`step (\d+)/(\d+)`, "step 12/10\n", 10, 10, true},
		{`step (\d+)/(\d+)`, "step 1/0\n", 0, 0, false},
		{`step (\d+)/(\d+)`, "", 0, 0, false},
		{`(a)(b)(c)`, "abc\n", 0, 0, false},
		{`(.*)/(.*)`, "1e999/2\nInf/3\n", 0, 0, false},
	} {
		done, of, ok := lastProgress(regexp.MustCompile(c.pattern), []byte(c.text))
		if done != c.done || of != c.of || ok != c.ok {
			t.Errorf("%q in %q: %v of %v, %v", c.pattern, c.text, done, of, ok)
		}
	}
}

func TestTheEndOfAStreamIsRemembered(t *testing.T) {
	r := recent{keep: 10}
	all := ""
	for i := range 50 {
		text := strings.Repeat(string(rune('a'+i%26)), i%13)
		r.addText([]byte(text))
		all += text
		if want := all[max(0, len(all)-10):]; string(r.appendTo(nil)) != want {
			t.Fatalf("after %q: %q", all, r.appendTo(nil))
		}
	}
}

func FuzzProgress(f *testing.F) {
	f.Add(`step (\d+)/(\d+)`, []byte("step 1/10\n"))
	f.Add(`(.*)`, []byte("1e400\r\n-1\nNaN\n"))
	f.Add(`((((`, []byte("\n"))
	f.Fuzz(func(t *testing.T, pattern string, text []byte) {
		p, err := NewProgress(pattern)
		if err != nil || p.pattern == nil {
			return
		}
		if done, of, ok := lastProgress(p.pattern, text); ok && !(done >= 0 && of > 0 && done <= of) {
			t.Errorf("%q in %q: %v of %v", pattern, text, done, of)
		}
	})
}
