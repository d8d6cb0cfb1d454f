package runlog_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sim/runlog"
)

// Changing digits keeps a line well formed, so these get further than most of
// what a fuzzer makes.
func TestALogWithWrongDigitsIsNeverMoreThanAnError(t *testing.T) {
	log, _ := logOf(t, setup(t, 8, engine.PWA, "egs"), false)
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		edited := bytes.Clone(log)
		for range 1 + random.IntN(3) {
			at := random.IntN(len(edited))
			if edited[at] < '0' || edited[at] > '9' {
				at += max(0, bytes.IndexAny(edited[at:], "0123456789"))
			}
			edited[at] = '0' + byte(random.IntN(10))
		}
		var differs *runlog.DifferenceError
		if err := replay(edited); err != nil && !badinput.Is(err) && !errors.As(err, &differs) {
			t.Errorf("an error of another kind: %v", err)
		}
	}
}
