package swf

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

const line = "7 100 20 300 4 250 1024 8 600 2048 1 3 2 5 1 6 3 60\n"

var sample = Record{
	ID: 7, Submit: core.AtSecond(100), Wait: 20 * time.Second, Run: 300 * time.Second,
	Allocated: 4, CPU: 250 * time.Second, Memory: 1024, RequestedProcs: 8,
	RequestedTime: 600 * time.Second, RequestedMemory: 2048, Status: Completed,
	User: 3, Group: 2, App: 5, Queue: 1, Partition: 6, Preceding: 3, Think: 60 * time.Second,
}

func readString(text string, opts Options) (*Trace, error) {
	return ReadAll(strings.NewReader(text), "t.swf", opts)
}

// fields18 is a valid line in which field n (from 1) is replaced.
func fields18(n int, value string) string {
	f := strings.Fields(line)
	f[n-1] = value
	return strings.Join(f, " ")
}

func TestEveryFieldOfALineHasItsPlaceInTheRecord(t *testing.T) {
	for name, text := range map[string]string{
		"plain":                line,
		"without a line end":   strings.TrimSpace(line),
		"Windows line ends":    strings.ReplaceAll(line, "\n", "\r\n"),
		"tabs and wide blanks": "  " + strings.ReplaceAll(line, " ", " \t  ") + "  \n\n  \n",
		"byte order mark":      "\ufeff" + line,
		"fractions of nothing": strings.ReplaceAll(line, " 8 600 ", " 8.0 600.000 "),
		"exponents and signs":  strings.ReplaceAll(line, " 8 600 ", " 8e0 +6.0E+2 "),
		"compressed":           compress(line),
	} {
		got, err := readString(text, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff([]Record{sample}, got.Records); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func compress(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s)) // a bytes.Buffer does not fail
	_ = w.Close()
	return b.String()
}

func TestUnknownFieldsStayUnknown(t *testing.T) {
	got, err := readString("1 0"+strings.Repeat(" -1", 16), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(unknown(), got.Records[0]); diff != "" {
		t.Error(diff)
	}
}

func TestSecondsMayHaveAFractionWhichIsRoundedToTheNanosecond(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"12.5":         12500 * time.Millisecond,
		".25":          250 * time.Millisecond,
		"3.":           3 * time.Second,
		"0.0000000014": 1,
		"0.0000000015": 2,
		"9.9999999999": 10 * time.Second,
		"1.5e3":        1500 * time.Second,
		"25e-1":        2500 * time.Millisecond,
		"-1.0":         Unknown,
		"-0":           0,
	} {
		got, err := readString(fields18(4, in), Options{})
		if err != nil {
			t.Errorf("%s: %v", in, err)
		} else if got.Records[0].Run != want {
			t.Errorf("run time %s = %v, want %v", in, got.Records[0].Run, want)
		}
	}
}

func TestAnErrorNamesFileLineFieldAndValue(t *testing.T) {
	for _, c := range []struct {
		name, text, field, value string
		line                     int
	}{
		{"text in a number", fields18(4, "12x"), "run time", "12x", 1},
		{"not a number", fields18(9, "nan"), "requested time", "nan", 1},
		{"infinity", fields18(9, "Inf"), "requested time", "Inf", 1},
		{"hexadecimal", fields18(9, "0x10"), "requested time", "0x10", 1},
		{"half a processor", fields18(8, "4.5"), "requested processors", "4.5", 1},
		{"negative size", fields18(8, "-4"), "requested processors", "-4", 1},
		{"negative allocation", fields18(5, "-2"), "allocated processors", "-2", 1},
		{"negative run time", fields18(4, "-17"), "run time", "-17", 1},
		{"negative submit time", fields18(2, "-1"), "submit time", "-1", 1},
		{"no job number", fields18(1, "-1"), "job number", "-1", 1},
		{"too many processors", fields18(5, "3000000000"), "allocated processors", "3000000000", 1},
		{"too long a time", fields18(2, "99999999999"), "submit time", "99999999999", 1},
		{"more digits than a number has", fields18(1, strings.Repeat("9", 40)), "job number", strings.Repeat("9", 40), 1},
		{"too large an exponent", fields18(4, "1e999"), "run time", "1e999", 1},
		{"two points", fields18(4, "1.2.3"), "run time", "1.2.3", 1},
		{"a lone sign", fields18(4, "-"), "run time", "-", 1},
		{"too few fields", "1 2 3\n", "run time", "", 1},
		{"too many fields", strings.TrimSpace(line) + " 5\n", "field 19", "5", 1},
		{"the same number twice", "; c\n" + line + "\n" + line, "job number", "7", 4},
		{"binary", "\x7fELF\x00\x01\x02\n", "", "\x7fELF\x00\x01\x02", 1},
		{"an endless line", line + strings.Repeat("1 ", maxLine), "", "", 2},
		{"an endless comment", ";" + strings.Repeat("-", 3*maxLine) + "\n" + line, "", "", 1},
		{"empty", "", "", "", 0},
		{"only comments", "; MaxProcs: 5\n\n", "", "", 0},
		{"truncated gzip", compress(line)[:30], "", "", 0},
		{"gzip of two bytes", "\x1f\x8b", "", "", 0},
		{"damaged gzip", strings.ReplaceAll(compress(line), "\x00\x00\x00", "\x01\x02\x03"), "", "", 0},
		{"rubbish after gzip", compress(line) + "rubbish that is long enough", "", "", 0},
	} {
		_, err := readString(c.text, Options{})
		var bad *badinput.Error
		if !errors.As(err, &bad) {
			t.Errorf("%s: got %v, want a bad-input error", c.name, err)
			continue
		}
		if bad.File != "t.swf" || bad.Line != c.line || bad.Field != c.field || c.value != "" && bad.Value != c.value ||
			bad.Want == "" {
			t.Errorf("%s: got %#v", c.name, bad)
		}
		if msg := err.Error(); strings.Contains(msg, "\n") || len(msg) > 400 {
			t.Errorf("%s: not one short line: %q", c.name, msg)
		}
	}
}

func TestALenientReaderSkipsBadRecordsAndRemembersTheFirstReasons(t *testing.T) {
	var b strings.Builder
	for range 10 {
		b.WriteString("1 2 three\n")
	}
	b.WriteString(strings.Repeat("x", 2*maxLine) + "\n" + line + line)
	got, err := readString(b.String(), Options{Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	if got.Skipped != 12 || len(got.Reasons) != maxReasons || len(got.Records) != 1 {
		t.Fatalf("skipped %d, %d reasons, %d records", got.Skipped, len(got.Reasons), len(got.Records))
	}
	if want := `t.swf:1: wait time "three": `; !strings.HasPrefix(got.Reasons[0].Error(), want) {
		t.Errorf("first reason %q, want %q…", got.Reasons[0], want)
	}
}

func TestALenientReaderStillRefusesADamagedFile(t *testing.T) {
	for name, text := range map[string]string{
		"truncated":      compress(strings.Repeat("1 x\n", 5) + line)[:40],
		"nothing usable": "1 x\n2 y\n",
		"empty":          "",
	} {
		if _, err := readString(text, Options{Lenient: true}); !badinput.Is(err) {
			t.Errorf("%s: got %v, want a bad-input error", name, err)
		}
	}
}

func TestPartsOfAJobMayRepeatItsNumberAndAreNotUsable(t *testing.T) {
	part := fields18(11, "2")
	got, err := readString(line+part+"\n"+part+"\n", Options{})
	if err != nil {
		t.Fatal(err)
	}
	usable := 0
	for i := range got.Records {
		if ok, _ := got.Records[i].IsUsable(); ok {
			usable++
		}
	}
	if len(got.Records) != 3 || usable != 1 {
		t.Errorf("%d records, %d usable; want 3 and 1", len(got.Records), usable)
	}
}

func TestRecordsAreSortedBySubmitTimeAndStableWithinASecond(t *testing.T) {
	var b strings.Builder
	for _, r := range []string{"1 50", "2 10", "3 50", "4 10", "5 0"} {
		b.WriteString(r + strings.Repeat(" 1", 16) + "\n")
	}
	got, err := readString(b.String(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, r := range got.Records {
		ids = append(ids, r.ID)
	}
	if diff := cmp.Diff([]int64{5, 2, 4, 1, 3}, ids); diff != "" || got.Displaced != 3 {
		t.Errorf("displaced %d\n%s", got.Displaced, diff)
	}
}

func TestUsableSaysWhatARecordLacks(t *testing.T) {
	for text, want := range map[string]string{
		fields18(4, "-1"): "run time unknown",
		fields18(4, "0"):  "",
		"1 0 -1 0 -1 -1 -1 -1 -1 -1 5 14 -1 184 -1 1 -1 -1": "no processors requested or allocated",
		"1 0 -1 9 0 -1 -1 0 -1 -1 5 14 -1 184 -1 1 -1 -1":   "no processors requested or allocated",
	} {
		got, err := readString(text, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if ok, why := got.Records[0].IsUsable(); why != want || ok != (want == "") {
			t.Errorf("%s: %v %q, want %q", text, ok, why, want)
		}
	}
}

func TestRequestedValuesGoBeforeMeasuredOnes(t *testing.T) {
	r := sample
	if r.NeededProcs() != 8 || r.EstimatedTime() != 600*time.Second {
		t.Errorf("requested: %d processors, %v", r.NeededProcs(), r.EstimatedTime())
	}
	r.RequestedProcs, r.RequestedTime = Unknown, 0
	if r.NeededProcs() != 4 || r.EstimatedTime() != 300*time.Second {
		t.Errorf("measured: %d processors, %v", r.NeededProcs(), r.EstimatedTime())
	}
	r.Allocated, r.Run = 0, Unknown
	if r.NeededProcs() != 0 || r.EstimatedTime() != 0 {
		t.Errorf("neither: %d processors, %v", r.NeededProcs(), r.EstimatedTime())
	}
}

func TestHeaderKeepsKeysInOrderAndAllLines(t *testing.T) {
	text := "; Version: 2.2\n;  Queue:  1 [fque:1] \n; Queue: 2 b\n;              http://x.y/\n" +
		";       submit<=2006-12-18 00:00:00 (1434 jobs removed)\n; http://z\n;\n; MaxNodes: 12\n; MaxProcs: 96 (all)\n" +
		line + "; End: yes\n"
	got, err := readString(text, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{{"Version", "2.2"}, {"Queue", "1 [fque:1]"}, {"Queue", "2 b"}, {"MaxNodes", "12"},
		{"MaxProcs", "96 (all)"}, {"End", "yes"}}
	if diff := cmp.Diff(want, got.Header.Entries); diff != "" {
		t.Error(diff)
	}
	if len(got.Header.Lines) != 10 {
		t.Errorf("%d lines", len(got.Header.Lines))
	}
	if v, ok := got.Header.FindEntry("queue"); v != "1 [fque:1]" || !ok {
		t.Errorf("Get: %q %v", v, ok)
	}
	if got.Header.ProcessorCount() != 96 {
		t.Errorf("processors: %d", got.Header.ProcessorCount())
	}
}

func TestAFailureOfTheReaderBelowIsNotTheUsersMistake(t *testing.T) {
	broken := errors.New("disk on fire")
	r := NewReader(io.MultiReader(strings.NewReader(line), iotest.ErrReader(broken)), "t.swf", Options{Lenient: true})
	if _, err := r.NextRecord(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // and stays
		if _, err := r.NextRecord(); !errors.Is(err, broken) || badinput.Is(err) {
			t.Fatalf("got %v", err)
		}
	}
}

func TestAFileThatIsNotThereIsBadInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.swf")
	if _, err := ReadFile(path, Options{}); !badinput.Is(err) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestAMillionRecordsFitFarBelow150Megabytes(t *testing.T) {
	if size := unsafe.Sizeof(Record{}); size > 120 {
		t.Errorf("a record takes %d bytes", size)
	}
}

func TestWhatAFileCanMakeUsUseIsBounded(t *testing.T) {
	comments := strings.Repeat("; c\n", maxHeader/3+1)
	if _, err := ReadAll(strings.NewReader(comments+line), "comments", Options{Lenient: true}); !badinput.Is(err) {
		t.Errorf("%d bytes of comments: %v", len(comments), err)
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	blank := []byte(strings.Repeat(strings.Repeat(" ", 1023)+"\n", 1<<10))
	for range 2 * maxFree >> 20 {
		if _, err := z.Write(blank); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadAll(&packed, "bomb", Options{Lenient: true}); !badinput.Is(err) ||
		!strings.Contains(err.Error(), "expands") {
		t.Errorf("gzip that expands a thousandfold: %v", err)
	}
}
