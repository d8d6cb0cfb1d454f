package progress

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// bench is a line on a terminal of the test, with a clock the test moves.
type bench struct {
	bytes.Buffer
	now  time.Time
	line *Line
}

func newBench(label string, total int64) *bench {
	b := &bench{now: time.Unix(0, 0)}
	b.line = startLine(&b.Buffer, func() time.Time { return b.now }, label, "jobs", total)
	return b
}

func (b *bench) at(seconds float64, done int64) {
	b.now = time.Unix(0, 0).Add(time.Duration(seconds * float64(time.Second)))
	b.line.Update(done)
}

// visible is what stands in the line after everything written so far.
func (b *bench) visible() string {
	s := b.String()
	return s[strings.LastIndex(s, "\x1b[K")+len("\x1b[K"):]
}

func TestNothingIsShownInTheFirstTwoSeconds(t *testing.T) {
	b := newBench("trace", 100)
	b.at(0.1, 10)
	b.at(1.9, 90)
	b.line.ClearLine()
	if b.Len() != 0 {
		t.Errorf("wrote %q, want nothing for work of less than two seconds", b.String())
	}
}

func TestTheLineShowsShareCountRateAndTimeLeft(t *testing.T) {
	b := newBench("kth.swf", 28480)
	b.at(4, 12000)
	want := "kth.swf  42 %  12,000 of 28,480 jobs  3,000/s  6s left"
	if got := b.visible(); got != want {
		t.Errorf("line %q, want %q", got, want)
	}
}

func TestWithoutATotalThereIsNoShareAndNoTimeLeft(t *testing.T) {
	b := newBench("", 0)
	b.at(4, 10)
	if got, want := b.visible(), "10 jobs  2.5/s"; got != want {
		t.Errorf("line %q, want %q", got, want)
	}
}

func TestUpdatesInQuickSuccessionWriteOnce(t *testing.T) {
	b := newBench("trace", 1_000_000)
	for i := range int64(1000) {
		b.at(3+float64(i)*0.00001, i)
	}
	if n := strings.Count(b.String(), "\r"); n != 1 {
		t.Errorf("the line was written %d times within 10 ms, want once", n)
	}
}

func TestTheLineIsGoneAtTheEnd(t *testing.T) {
	b := newBench("trace", 100)
	b.at(3, 50)
	b.line.ClearLine()
	if got := b.visible(); got != "" {
		t.Errorf("%q is left on the terminal", got)
	}
	n := b.Len()
	b.line.ClearLine()
	if b.Len() != n {
		t.Error("a second Done wrote again")
	}
}

func TestTheLineNeverWraps(t *testing.T) {
	b := newBench(strings.Repeat("ö", 200), 100)
	b.at(3, 50)
	if n := utf8.RuneCountInString(b.visible()); n > width {
		t.Errorf("the line has %d characters, want at most %d", n, width)
	}
}

func TestMoreDoneThanPlannedIsNotMoreThanEverything(t *testing.T) {
	b := newBench("trace", 100)
	b.at(3, 150)
	if got := b.visible(); !strings.Contains(got, "100 %") || strings.Contains(got, "left") {
		t.Errorf("line %q, want 100 %% and no time left", got)
	}
}

func TestAFileIsNoTerminalAndGetsNoLine(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, w := range []*os.File{f, null} {
		l := New(w, time.Now, "trace", "jobs", 100)
		if l != nil {
			t.Errorf("%s got a progress line", w.Name())
		}
		l.Update(50) // the silent line takes updates like any other
		l.ClearLine()
	}
	if l := New(new(bytes.Buffer), time.Now, "trace", "jobs", 100); l != nil {
		t.Error("a buffer got a progress line")
	}
}

func TestTheTimeLeftIsRoundedUp(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		want    string
	}{
		{0, "0s"}, {0.2, "1s"}, {59.5, "1m00s"}, {61, "1m01s"}, {3600, "1h00m"},
		{90061, "25h01m"}, {1e300, "over 1000h"},
	} {
		if got := formatRemaining(c.seconds); got != c.want {
			t.Errorf("remaining(%v) = %q, want %q", c.seconds, got, c.want)
		}
	}
}

func TestThousandsAreSeparated(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := FormatThousands(n); got != want {
			t.Errorf("Thousands(%d) = %q, want %q", n, got, want)
		}
	}
}
