package agent

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

func TestTheMostMemoryThatAProgramHadIsToldAtItsEnd(t *testing.T) {
	h := newHarness(t, "dd", "if=/dev/zero", "of=/dev/null", "bs=64M", "count=1") // too short for a sample
	h.run()
	if m := h.ended(); m.Code != 0 || m.State.Peak < 64<<20 || m.State.Peak > 1<<30 {
		t.Errorf("code %d, at most %d bytes of memory, want some 64 MiB", m.Code, m.State.Peak)
	}
}

func TestAProgramWithMoreMemoryThanItMayHaveIsEnded(t *testing.T) {
	h := newHarness(t, "python3", "-c", "import time; x = bytearray(300 << 20); time.sleep(1000)")
	h.attempt.Spec.Memory = 100 << 20
	h.run()
	m := h.ended()
	if m.Kind != wire.Ended || m.Code != killedCode || m.Cause != jobfile.OutOfMemory ||
		!strings.HasPrefix(m.Why, "out of memory: it had ") || !strings.HasSuffix(m.Why, "(limit 100 MiB)") {
		t.Errorf("ended with %+v", m)
	}
}

func TestMemoryThatProcessesShareIsCountedOnceAgainstTheLimit(t *testing.T) {
	h := newHarness(t, "python3", "-c", `import os
x = bytearray(60 << 20)
children = []
r, w = os.pipe()
for i in range(6):
    if os.fork() == 0:
        os.close(w); os.read(r, 1); os._exit(0)
import time; time.sleep(1.5)
os.close(w)
for i in range(6): os.wait()`)
	h.attempt.Spec.Memory = 200 << 20
	h.run()
	if m := h.ended(); m.Code != 0 {
		t.Errorf("ended with %+v", m)
	}
}

func TestAProgramThatTheKernelKilledForLackOfMemoryFailedForThat(t *testing.T) {
	for _, lost := range []bool{false, true} {
		h := newHarness(t, "sh", "-c", "kill -9 $$")
		var looks, kills atomic.Int64
		if !lost { // else nothing was killed, and it ended by a signal from elsewhere
			kills.Store(1)
		}
		h.around.oom = func(string) int64 {
			if looks.Add(1) == 1 {
				return 5
			}
			return 5 + kills.Load()
		}
		h.attempt.Spec.Memory = 1 << 40
		h.run()
		m := h.ended()
		if got := m.Cause == jobfile.OutOfMemory; got == lost || m.Code != killedCode {
			t.Errorf("ended with %+v", m)
		} else if want := "out of memory (limit 1 TiB): ended by signal 9 (SIGKILL)"; !lost && m.Why != want {
			t.Errorf("why %q, want %q", m.Why, want)
		}
	}
}

func TestHowLongAProgramRanIsToldWithoutWhatCameBefore(t *testing.T) {
	h := newHarness(t, "true")
	const before = time.Second
	h.attempt.Spec.Setup = "sleep 1"
	began := h.around.clock()
	h.run()
	all := h.around.clock.Since(began)
	m, run := h.ended(), h.all(wire.Running)
	if ran := time.Duration(m.State.Wall * float64(time.Second)); ran <= 0 || ran > all-before {
		t.Errorf("it ran %v of %v, of which %v were setup", ran, all, before)
	}
	if len(run) != 1 || run[0].State.Prepared < before.Seconds() || run[0].State.Wall != 0 {
		t.Errorf("it began with %+v", run)
	}
}

func TestATimeLimitIsTheReasonOfFailure(t *testing.T) {
	h := newHarness(t, "sleep", "1000")
	h.attempt.Spec.Time = 100 * time.Millisecond
	h.run()
	if m := h.ended(); m.Code != 124 || m.Cause != jobfile.TimeLimit ||
		m.Why != "time limit reached: it ran longer than 100ms" {
		t.Errorf("ended with %+v", m)
	}
}
