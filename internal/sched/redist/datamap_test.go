package redist

import (
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
)

// asC is a map as program/c writes it.
const asC = `godwit-srs 1
serial 3
stop 1
procs 2
arrays 3
array step 3 8 0 4 0 0 0 0 0 0 1 1
array A 5 8 1 3 64 32 1 2 1 0 2 500 300
array x 5 8 0 5 0 0 0 0 0 3 1 10
run 1 0 4 0
run 0 4 3 0
run 1 7 3 4
part 0 241664 f2183c32
part 1 237568 511fbf4f
`

func sealed(text string) string {
	return fmt.Sprintf("%send %08x\n", text, crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
}

func TestTheMapOfACheckpointIsRead(t *testing.T) {
	m, err := ParseDataMap(sealed(asC))
	if err != nil {
		t.Fatal(err)
	}
	want := "{3 true 2 [{{step 8 [1] false} 3 {replicated 2 [0 0] [0 0] false []}} " +
		"{{A 8 [500 300] true} 5 {grid 2 [64 32] [1 2] true []}} " +
		"{{x 8 [10] false} 5 {ranges 2 [0 0] [0 0] false [[{4 3}] [{0 4} {7 3}]]}}] " +
		"[{241664 4061674546} {237568 1361035087}]}"
	if got := fmt.Sprint(m); got != want {
		t.Errorf("read as\n%s\nwant\n%s", got, want)
	}
	if _, err := ParseDataMap(asC + "end 00000000\n"); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a wrong checksum: %v", err)
	}
	newer := strings.Replace(asC, "srs 1", "srs 2", 1)
	if _, err := ParseDataMap(sealed(newer)); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("a newer one: %v", err)
	}
	for was, is := range map[string]string{"serial 3\n": "", "procs 2": "procs 3", "run 1 7 3 4": "run 1 6 3 4",
		"part 1 237568 511fbf4f\n": "", "A 5 8 1 3": "A 5 8 1 9", "2 500 300": "2 500", "stop": "stopp"} {
		if m, err := ParseDataMap(sealed(strings.Replace(asC, was, is, 1))); err == nil {
			t.Errorf("%q in place of %q is taken as %v", is, was, m)
		}
	}
}

func FuzzDataMap(f *testing.F) {
	f.Add(asC)
	f.Add("godwit-srs 1\nserial 0\nstop 0\nprocs 1\narrays 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseDataMap(sealed(text))
		if err != nil {
			return
		}
		if len(m.Parts) != m.Procs {
			t.Errorf("%d parts of %d processes", len(m.Parts), m.Procs)
		}
		for _, a := range m.Arrays {
			if _, _, err := a.Layout.axesOf(a.Array); err != nil {
				t.Errorf("an array that cannot be divided is taken: %v", err)
			}
		}
	})
}
