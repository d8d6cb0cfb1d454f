package measure

import (
	"context"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const profileText = `# callgrind format
version: 1
positions: instr
events: Ir Dr Dw I1mr D1mr D1mw

ob=/bin/x
fn=main
0x1000 1000 1000 0 0 300
0x1004 1000 0 1000 0 0 100
0x1008 1000
jcnd=999/1000 0x1000
0x1008
0x100c 1
calls=1 0x3000
0x100c 900 900 900 900 900 900
0x2000 500 500 0 0 400
0x2004 500 500
jump=5 0x2100
0x2004
jump=499 0x2000
0x2008
0x3000 7 7 0 0 50
`

func TestStreamsAreTheInstructionsOfALoopThatMiss(t *testing.T) {
	p := parseProfile(profileText)
	if len(p.loops) != 2 || p.loops[0x1000] != 0x1008 || p.loops[0x2000] != 0x2008 {
		t.Errorf("loops %x", p.loops)
	}
	if p.misses[0x1000] != 300 || p.misses[0x1004] != 100 || p.misses[0x100c] != 0 || p.misses[0x2000] != 400 {
		t.Errorf("misses %v", p.misses)
	}
	octaves, misses := p.loopStreams()
	// 300 and 100 are as good as 1.6 equal ones; 400 are one; what lies in no loop does not count.
	if want := 400 * math.Log2(1.6); misses != 800 || math.Abs(octaves-want) > 1e-9 {
		t.Errorf("%g octaves of %g misses, want %g of 800", octaves, misses, want)
	}
}

func TestAnInstructionBelongsToTheInnermostLoop(t *testing.T) {
	p := codeProfile{misses: map[uint64]float64{0x10: 8, 0x20: 8, 0x24: 8, 0x40: 8},
		loops: map[uint64]uint64{0x10: 0x50, 0x20: 0x30}}
	octaves, misses := p.loopStreams()
	if misses != 32 || math.Abs(octaves-32) > 1e-9 { // two and two
		t.Errorf("%g octaves of %g misses", octaves, misses)
	}
}

func FuzzParseProfile(f *testing.F) {
	f.Add(profileText)
	f.Add("positions:\nevents: D1mr\n0x1\njcnd=\n0x\ncalls=\n0x1 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		octaves, misses := parseProfile(text).loopStreams()
		if !(octaves >= 0) || !(misses >= 0) {
			t.Errorf("%g octaves of %g misses", octaves, misses)
		}
	})
}

func TestTheStreamsOfAProgramAreCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "streams")
	cmd := exec.Command("cc", "-O1", "-x", "c", "-o", path, "-")
	cmd.Stdin = strings.NewReader(`
#include <stdlib.h>
int main(int argc, char **argv) {
	long n = 1 << 15, sum = 0;
	long *a = calloc(n, 8), *b = calloc(n, 8), *c = calloc(n, 8);
	for (int turn = 0; turn < 100; turn++)
		if (atol(argv[1]) == 1)
			for (long i = 0; i < n; i++) sum += a[i];
		else
			for (long i = 0; i < n; i++) c[i] = a[i] + b[i];
	return sum + c[argc] != 0;
}`)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for size, want := range map[string]float64{"1": 1, "3": 3} {
		got, err := countStreams(context.Background(), []string{path, size}, "")
		if err != nil || math.Abs(got/want-1) > 0.15 { // what begins and ends a process has loops, too
			t.Errorf("%g streams, want %g (%v)", got, want, err)
		}
	}
}
