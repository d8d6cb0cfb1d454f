package daemon_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// resizesPerProgram is how often the size of each program is changed; GODWIT_RESIZES says otherwise.
func resizesPerProgram(t *testing.T) int {
	text := os.Getenv("GODWIT_RESIZES")
	if text == "" {
		return 6
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("GODWIT_RESIZES is %q, which is no number from 1 on", text)
	}
	return n
}

// MPI programs divide their data anew, in memory, when they are given more or fewer cores. What
// they compute does not change.
func TestMPIProgramsChangeTheirSizeInPlace(t *testing.T) {
	const ranks = 4
	for name, size := range map[string]string{"heat": "400", "bodies": "300"} {
		t.Run(name, func(t *testing.T) {
			program, err := filepath.Abs("../../../examples/apps/build/" + name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(program); err != nil {
				t.Fatalf("%v: make examples", err)
			}
			mpirun, err := exec.LookPath("mpirun")
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "end")
			spec := job(mpirun, "--oversubscribe", "-n", fmt.Sprint(ranks), program, size, "1000000000", file)
			spec.Kind, spec.Min, spec.Max = core.Malleable, 1, ranks
			spec.Checkpoint.Method = "restart"
			spec.Env["OMPI_ALLOW_RUN_AS_ROOT"], spec.Env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1", "1"
			b := up(t, fixedSizes)
			id := b.submit(spec)
			b.until(id, running)
			random := rand.New(rand.NewPCG(2, uint64(time.Now().UnixNano())))
			b.resize(id, 2)
			at := 2
			for changes := resizesPerProgram(t); changes > 0; {
				next := 1 + random.IntN(ranks)
				if next == at {
					continue
				}
				b.resize(id, next)
				changes--
				want := fmt.Sprintf("%d ranks work, of %d before", next, at)
				if !(clocktest.PollLoop{Limit: time.Minute}).Until(func() bool { return b.said(id) == want }) {
					t.Fatalf("it says %q, not %q\n%s", b.said(id), want, b.output(id, 2))
				}
				at = next
			}
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if j := b.end(id); j.State != core.Done {
				t.Fatalf("it ended %s: %s\n%s", j.State, j.Why, b.output(id, 2))
			}
			out := strings.TrimSpace(b.output(id, 1))
			var steps int
			if _, err := fmt.Sscanf(out[strings.LastIndex(out, "after"):], "after %d steps", &steps); err != nil {
				t.Fatalf("it printed %q: %v", out, err)
			}
			alone := exec.CommandContext(t.Context(), program, size, fmt.Sprint(steps))
			want, err := alone.Output()
			if err != nil || strings.TrimSpace(string(want)) != out {
				t.Errorf("it printed %q, and with one rank %q, %v", out, want, err)
			}
			t.Log(strings.TrimSpace(b.output(id, 2)))
		})
	}
}

// said is what the program of a job has told its user last.
func (b *bed) said(id string) string {
	b.Helper()
	if list := b.explained(id, "message", ""); len(list) > 0 {
		return list[len(list)-1].Choice
	}
	return ""
}
