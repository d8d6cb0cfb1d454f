package swf

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// FuzzRead gives the reader anything at all. It must not panic, must blame
// the input and nothing else, must return only records that keep their
// promises, and what it accepts must survive being written and read again.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		line, "; MaxProcs: 100\n" + line, compress(line), compress(line)[:20], "", "\x1f\x8b",
		strings.ReplaceAll(line, "300", "300.123456789123"), strings.ReplaceAll(line, "300", "3e2"),
		"1 0" + strings.Repeat(" -1", 16) + "\r\n\r\n2 5" + strings.Repeat(" -1", 16), "1 2 3\n" + line,
		line + line, "\ufeff" + line, "\x00\x01\n", fields18(11, "3") + "\n" + fields18(11, "3"),
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, lenient bool) {
		trace, err := ReadAll(bytes.NewReader(data), "fuzz", Options{Lenient: lenient})
		if err != nil {
			if !badinput.Is(err) {
				t.Fatalf("not blamed on the input: %v", err)
			}
			return
		}
		if len(trace.Records) == 0 || trace.Skipped > 0 && !lenient {
			t.Fatalf("%d records, %d skipped", len(trace.Records), trace.Skipped)
		}
		for i := range trace.Records {
			keepsPromises(t, &trace.Records[i])
			if i > 0 && trace.Records[i].Submit < trace.Records[i-1].Submit {
				t.Fatalf("record %d out of order", i)
			}
		}
		again, err := ReadAll(bytes.NewReader(written(t, trace)), "again", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(trace.Records, again.Records); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(trace.Header, again.Header); diff != "" {
			t.Fatal(diff)
		}
	})
}

func keepsPromises(t *testing.T, r *Record) {
	t.Helper()
	for i, n := range r.toNumbers() {
		if n < Unknown || n < 0 && fields[i].must {
			t.Fatalf("%s is %d", fields[i].name, n)
		}
	}
	if ok, why := r.IsUsable(); ok && (r.NeededProcs() < 1 || r.Run < 0 || r.EstimatedTime() < 0) || ok == (why != "") {
		t.Fatalf("usable %v (%s): %+v", ok, why, r)
	}
}
