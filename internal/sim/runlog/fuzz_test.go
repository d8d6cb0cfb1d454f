package runlog_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sim/runlog"
	"github.com/godwit-hpc/godwit/internal/sim/trial"
)

// FuzzReplay: whatever a file says, replaying it ends with results that add
// up, or with one line that says what is wrong.
func FuzzReplay(f *testing.F) {
	for _, policy := range []string{"egs", "marginal"} {
		log, _ := logOf(f, setup(f, 2, engine.PWA, policy), false)
		f.Add(log)
		f.Add(log[:len(log)/2])
		f.Add(bytes.ReplaceAll(log, []byte(`"n":2`), []byte(`"n":3`)))
		f.Add(bytes.ReplaceAll(log, []byte(`"kind":"answer"`), []byte(`"kind":"ask"`)))
	}
	packed, _ := logOf(f, setup(f, 1, engine.PRA, "fold"), true)
	f.Add(packed)
	f.Fuzz(func(t *testing.T, log []byte) {
		r, _, err := trial.ReplayLog(context.Background(), bytes.NewReader(log), "run.log", trial.Options{Series: true})
		if err == nil {
			if s := r.Summary; s.Completed+s.Failed+s.Unplaced != s.Jobs {
				t.Errorf("the jobs do not add up: %+v", s)
			}
			return
		}
		var differs *runlog.DifferenceError
		if !badinput.Is(err) && !errors.As(err, &differs) {
			t.Errorf("an error of another kind: %v", err)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("more than one line: %q", err)
		}
	})
}
