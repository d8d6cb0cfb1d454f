package sandbox_test

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
)

// moved are the programs that must not notice that they are moved. Each writes a
// line a step, and steps take some 10 ms.
var moved = []struct {
	name  string
	argv  []string
	steps int // it is moved after fewer lines than that
	code  int
}{
	{"AProgramInCWithALargeHeap", []string{"./heap", "64", "100"}, 55, 7},
	{"AStaticallyLinkedProgram", []string{"./heap-static", "8", "100"}, 55, 7},
	{"AMultiThreadedGoProgram", []string{"./threads", "100"}, 55, 5},
	{"APythonProgram", []string{"python3", "stats.py", "100"}, 55, 9},
	{"AShellPipelineWithChildren", []string{"./pipeline.sh", "70"}, 36, 3},
}

func TestProgramsMovedTwiceEndAsIfNothingHadHappened(t *testing.T) {
	for _, c := range moved {
		t.Run(c.name, func(t *testing.T) {
			quiet := folder(t)
			letEnd(t, quiet)
			wantOut, want := begin(t, quiet, "", c.argv...).end()
			if want.Code != c.code || want.Lost || want.Saved {
				t.Fatalf("undisturbed it ended with %+v, want code %d:\n%s", want, c.code, wantOut)
			}

			first := rand.IntN(c.steps / 2)
			second := first + 1 + rand.IntN(c.steps/2-1)
			t.Logf("moved after %d and %d lines", first, second)
			work := folder(t)
			a := begin(t, work, "", c.argv...)
			a.awaitLines(first)
			image := a.save(true, nil)
			out, res := a.end()
			if want := (checkpoint.Result{Saved: true, CPU: res.CPU}); res != want {
				t.Fatalf("after the first save: %+v, want %+v", res, want)
			}

			a, work = goOn(t, a, work, image)
			a.awaitLines(second - strings.Count(out, "\n"))
			image = a.save(true, nil)
			more, res := a.end()
			if !res.Saved {
				t.Fatalf("after the second save: %+v", res)
			}

			letEnd(t, work)
			a, work = goOn(t, a, work, image)
			last, res := a.end()
			if res.Code != want.Code || res.Signal != 0 || res.Lost || res.Saved {
				t.Errorf("it ended with %+v, want %+v", res, want)
			}
			if got := out + more + last; got != wantOut {
				t.Errorf("it wrote\n%s\nundisturbed it writes\n%s", got, wantOut)
			}
			if got, want := contents(t, work), contents(t, quiet); got != want {
				t.Errorf("its folder holds\n%.2000s\nundisturbed\n%.2000s", got, want)
			}
		})
	}
}

// goOn continues an image in a copy of the work folder that lies elsewhere.
func goOn(t testing.TB, a *attempt, work, image string) (*attempt, string) {
	t.Helper()
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	copyTree(t, work, elsewhere)
	return begin(t, elsewhere, image, a.p.Argv...), elsewhere
}
