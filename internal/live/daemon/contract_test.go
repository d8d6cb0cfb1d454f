package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// paced writes a line a step and takes the time for it that stands in a file, until there is another file.
const paced = `
n=0
while [ ! -e "$2" ]; do
	n=$((n+1)); [ $n -le 100 ] || n=100
	echo "step $n/100"
	sleep "$(cat "$1")"
done`

// A program gets a promise where it takes the last core. When it becomes much slower than that it is moved, though it has
// no deadline, and explain has the numbers.
func TestAJobThatBreaksItsContractIsMovedWhereItGains(t *testing.T) {
	b := up(t, oneCore)
	dir := t.TempDir()
	pace, end := filepath.Join(dir, "pace"), filepath.Join(dir, "end")
	write := func(file, text string) {
		if err := os.WriteFile(file+".new", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	write(pace, "0.1")
	spec := job("sh", "-c", paced, "paced", pace, end)
	spec.Checkpoint.Method, spec.Progress, spec.Estimate = "restart", `step (\d+)/(\d+)`, 5*time.Second
	spec.Contract = &core.Contract{}
	id := b.submit(spec)
	first := b.until(id, running).Cluster
	accepted := b.explained(id, "contract", "accepted on "+first)
	if len(accepted) != 1 {
		t.Fatalf("it was promised %v", accepted)
	}
	promise, ok := accepted[0].Inputs["promise_s"].(float64)
	if !ok || promise <= 0 {
		t.Fatalf("it was promised %v", accepted[0].Inputs)
	}
	write(pace, fmt.Sprintf("%.3f", 10*promise/100)) // ten times as long as promised
	b.until(id, func(j *api.Job) bool { return j.State == core.Running && j.Cluster != first })
	write(pace, "0.02")
	moved := b.explained(id, "reschedule", "")
	if len(moved) == 0 {
		t.Fatal("it was moved without a decision")
	}
	last := moved[len(moved)-1].Inputs
	gain, threshold := last["gain"], last["threshold"]
	if g, ok := gain.(float64); !ok || g <= threshold.(float64) || last["ret_current_s"] == nil || last["cost_s"] == nil {
		t.Errorf("the decision rested on %v", last)
	}
	write(end, "")
	if j := b.until(id, func(j *api.Job) bool { return j.State.IsTerminal() }); j.State != core.Done {
		t.Errorf("it ended as %s: %s", j.State, j.Why)
	}
}
