package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/agent/output"
	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestTheExitCodeAndTheOutputOfAProgramAreTold(t *testing.T) {
	for _, c := range []struct {
		script, out, err string
		code             int
		why              string
	}{
		{script: "true"},
		{script: "echo hello; echo trouble >&2; exit 7", out: "hello\n", err: "trouble\n", code: 7, why: "exit code 7"},
		{script: "kill -9 $$", code: 137, why: "SIGKILL"},
		{script: "printf 'a\\0b'", out: "a\x00b"},
	} {
		t.Run(c.script, func(t *testing.T) {
			h := newHarness(t, "/bin/sh", "-c", c.script)
			h.run()
			m := h.ended()
			if m.Kind != wire.Ended || m.Code != c.code || !strings.Contains(m.Why, c.why) || m.Result != "" {
				t.Errorf("told %+v", m)
			}
			if h.output(1) != c.out || h.output(2) != c.err {
				t.Errorf("output %q and %q", h.output(1), h.output(2))
			}
			if run := h.all(wire.Running); len(run) != 1 || run[0].Method != "restart" || run[0].Why == "" {
				t.Errorf("running was told as %+v", run)
			}
		})
	}
}

func TestAProgramThatCannotBeStartedEndsAsAShellWouldSay(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, code := range map[string]int{filepath.Join(dir, "none"): 127, plain: 126} {
		h := newHarness(t, path)
		h.run()
		if m := h.ended(); m.Kind != wire.Ended || m.Code != code || m.Why == "" {
			t.Errorf("%s: told %+v", path, m)
		}
		if len(h.all(wire.Running)) > 0 {
			t.Error("a program that was never started is said to run")
		}
	}
}

// longOutput is a script whose output is about 2 MB on both streams together.
const longOutput = `i=0; while [ $i -lt 400 ]; do i=$((i+1));
	printf "%05d %02000d\n" $i 0; printf "e%05d %03000d\n" $i 0 >&2; done; exit 3`

func expectedLongOutput() (out, err string) {
	var o, e strings.Builder
	for i := 1; i <= 400; i++ {
		fmt.Fprintf(&o, "%05d %02000d\n", i, 0)
		fmt.Fprintf(&e, "e%05d %03000d\n", i, 0)
	}
	return o.String(), e.String()
}

func (h *harness) wantLongOutput() {
	h.t.Helper()
	out, err := expectedLongOutput()
	if h.output(1) != out || h.output(2) != err {
		h.t.Errorf("the output is not what was written: %d and %d bytes instead of %d and %d",
			len(h.output(1)), len(h.output(2)), len(out), len(err))
	}
	if m := h.ended(); m.Kind != wire.Ended || m.Code != 3 {
		h.t.Errorf("told %+v", m)
	}
}

func TestOutputIsExactHoweverOftenTheConnectionBreaks(t *testing.T) {
	for seed := range uint64(4) {
		h := newHarness(t, "/bin/sh", "-c", longOutput)
		h.cut = rand.New(rand.NewPCG(seed, 1))
		h.run()
		if h.cuts == 0 {
			t.Error("the connection never broke")
		}
		h.cut = nil
		h.wantLongOutput()
	}
}

func TestABrokerThatComesLateLearnsEverythingOnce(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "echo one; echo two >&2; exit 4")
	h.begin()
	clocktest.WaitFor(t, "exit.json", func() bool { return sizeOf(filepath.Join(h.dir, exitFile)) > 0 })
	time.Sleep(2 * acknowledgedAtOnce) // it makes everything safe then, and tells nobody
	h.start()
	h.wait()
	if m := h.ended(); m.Code != 4 || h.output(1) != "one\n" || h.output(2) != "two\n" {
		t.Errorf("told %+v, %q, %q", m, h.output(1), h.output(2))
	}
}

func TestABrokerThatComesAndGoesLearnsEverythingOnce(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", longOutput)
	h.start()
	h.begin()
	// Every second one dies before it has heard of the agent, if it can.
	for i := range 30 {
		had := len(h.output(1)) + len(h.output(2))
		h.until("output, or the end", func() bool {
			return i%2 == 0 || len(h.out[1])+len(h.out[2]) > had || count(h.messages, wire.Ended) > 0
		})
		h.stop()
		h.start()
	}
	h.wait()
	h.wantLongOutput()
}

func TestAProgramWaitsWhenNobodyTakesItsOutput(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", longOutput)
	h.around.spoolLimit = 100 << 10
	h.begin()
	kept := func() int64 {
		var n int64
		list, _ := filepath.Glob(filepath.Join(h.dir, "out", "*"))
		for _, f := range list {
			if info, err := os.Stat(f); err == nil {
				n += info.Size()
			}
		}
		return n
	}
	clocktest.WaitFor(t, "a full spool", func() bool { return kept() > h.around.spoolLimit })
	time.Sleep(100 * time.Millisecond) // in which the program would write on
	if n := kept(); n > 2*h.around.spoolLimit+2*output.PipeBuffer {
		t.Errorf("%d bytes are kept, with a limit of %d", n, h.around.spoolLimit)
	}
	h.start()
	h.wait()
	h.wantLongOutput()
}

func TestKillEndsEverythingAndSaysNothing(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "trap '' TERM; (setsid sleep 1000 &) ; echo up; while true; do sleep 1000; done")
	h.start()
	h.begin()
	h.until("output", func() bool { return len(h.out[1]) > 0 })
	h.order(wire.Order{Kind: wire.Kill})
	h.wait()
	if list := h.endings(); len(list) > 0 {
		t.Errorf("after a kill: %s", kinds(list))
	}
}

func TestAFenceKeepsAnAttemptFromStartingAndEndsOneThatRuns(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "echo up; sleep 1000")
	h.write()
	fence := func() {
		if err := os.WriteFile(filepath.Join(h.dir, "fence"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fence()
	h.run()
	if len(h.messages) > 0 {
		t.Errorf("a fenced attempt says %s", kinds(h.messages))
	}
	h.next()
	h.begin()
	h.until("output", func() bool { return len(h.out[1]) > 0 })
	fence()
	h.wait()
}

func TestAnAgentWhoseFolderIsRemovedEnds(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "touch up; sleep 1000")
	h.begin() // there is no broker at all
	// Until the program runs, the agent makes files there, which would come back while they are removed.
	clocktest.WaitFor(t, "a start", func() bool { _, err := os.Stat(filepath.Join(h.dir, "work", "up")); return err == nil })
	if err := os.RemoveAll(h.dir); err != nil {
		t.Fatal(err)
	}
	h.wait()
}

func TestOnlyOneAgentHasAFolder(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "echo up; sleep 1000")
	h.start()
	h.begin()
	h.until("output", func() bool { return len(h.out[1]) > 0 })
	if _, err := h.around.serveFolder(folder{h.dir}); err != nil {
		t.Errorf("the second agent: %v", err)
	}
	h.order(wire.Order{Kind: wire.Kill})
	h.wait()
	if n := len(h.all(wire.Running)); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

func TestAProgramIsEndedAtItsTimeLimit(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "echo up; sleep 1000")
	h.attempt.Spec.Time, h.attempt.Elapsed = 2*time.Second, 1500*time.Millisecond
	h.run()
	if m := h.ended(); m.Code != 124 || !strings.Contains(m.Why, "time limit reached: it ran longer than 2s") {
		t.Errorf("told %+v", m)
	}
}

func TestSetupRunsFirstAndItsFailureIsTheJobs(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "cat made; rm made")
	h.attempt.Spec.Setup = "echo preparing; echo $GREETING >made"
	h.attempt.Spec.Env = map[string]string{"GREETING": "hello there"}
	h.run()
	if m := h.ended(); m.Code != 0 || h.output(1) != "preparing\nhello there\n" {
		t.Errorf("told %+v, output %q", m, h.output(1))
	}
	h = newHarness(t, "/bin/sh", "-c", "echo never")
	h.attempt.Spec.Setup = "echo cannot >&2; exit 9"
	h.run()
	if m := h.ended(); m.Code != 9 || !strings.Contains(m.Why, "setup") || h.output(1) != "" || h.output(2) != "cannot\n" {
		t.Errorf("told %+v, output %q", m, h.output(1))
	}
}

func TestAMethodThatCannotBeUsedIsRefusedWithTheReason(t *testing.T) {
	h := newHarness(t, "/bin/true")
	h.attempt.Spec.Checkpoint.Method = "sandbox"
	h.run()
	if m := h.ended(); m.Code != 126 || !strings.Contains(m.Why, "the tests have no method sandbox") {
		t.Errorf("told %+v", m)
	}
}

func TestStopOfAProgramThatCannotBeSavedEndsIt(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "echo up; sleep 1000")
	h.start()
	h.begin()
	h.until("output", func() bool { return len(h.out[1]) > 0 })
	h.order(wire.Order{Kind: wire.Save})
	if m := h.await(wire.NotSaved); !strings.Contains(m.Why, "beginning") {
		t.Errorf("told %+v", m)
	}
	h.order(wire.Order{Kind: wire.Stop, By: core.AtSecond(1600), Why: "moved"})
	h.wait()
	if m := h.ended(); m.Kind != wire.Left || m.Saved != nil || m.Why != "moved" {
		t.Errorf("told %+v", m)
	}
}

func TestASignalToTheAgentIsAnOrderToLeave(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "echo up; sleep 1000")
	h.start()
	h.begin()
	h.until("output", func() bool { return len(h.out[1]) > 0 })
	h.signals <- os.Interrupt
	h.wait()
	if m := h.ended(); m.Kind != wire.Left || !strings.Contains(m.Why, "machine stops") {
		t.Errorf("told %+v", m)
	}
}

func TestStatusIsSentOnlyWhileSomebodyWatches(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "echo up; sleep 1000")
	h.countSamples()
	h.start()
	h.begin()
	h.until("output", func() bool { return len(h.out[1]) > 0 })
	told := func() int {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.status
	}
	refusals := 0
	askSave := func() { // the answer tells that what was ordered before it has been obeyed
		h.order(wire.Order{Kind: wire.Save})
		refusals++
		h.until("an answer", func() bool { return count(h.messages, wire.NotSaved) == refusals })
	}
	if told() > 0 {
		t.Error("status without being asked")
	}
	h.order(wire.Order{Kind: wire.Watch, Every: 20 * time.Millisecond})
	h.until("status", func() bool { return h.status > 3 })
	h.order(wire.Order{Kind: wire.Watch})
	askSave()
	askSave() // a last status may come with the first answer
	n := told()
	h.awaitSamples(3)
	if more := told() - n; more > 0 {
		t.Errorf("status was sent %d times though nobody watches any more", more)
	}
	h.order(wire.Order{Kind: wire.Kill})
	h.wait()
}

func TestStopAndKillAndTheTimeLimitReachASetup(t *testing.T) {
	for what, do := range map[string]func(*harness){
		"stop":  func(h *harness) { h.order(wire.Order{Kind: wire.Stop, Why: "moved"}) },
		"kill":  func(h *harness) { h.order(wire.Order{Kind: wire.Kill}) },
		"limit": func(*harness) {},
	} {
		t.Run(what, func(t *testing.T) {
			h := newHarness(t, "/bin/true")
			h.attempt.Spec.Setup = "echo up; sleep 1000"
			if what == "limit" {
				h.attempt.Spec.Time = 3 * time.Second
			}
			h.start()
			h.begin()
			if what != "limit" { // which may come before it
				h.until("output", func() bool { return len(h.out[1]) > 0 })
			}
			do(h)
			h.wait()
			switch list := h.endings(); {
			case what == "kill" && len(list) == 0:
			case what == "stop" && len(list) == 1 && list[0].Kind == wire.Left && list[0].Saved == nil:
			case what == "limit" && len(list) == 1 && list[0].Code == 124:
			default:
				t.Errorf("told %s", kinds(list))
			}
		})
	}
}

func TestGarbageFromTheSocketDoesNotDisturbTheProgram(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "i=0; while [ $i -lt 50 ]; do i=$((i+1)); echo $i; sleep 0.01; done")
	r := rand.New(rand.NewPCG(5, 5))
	h.garbage = func() []byte {
		switch r.IntN(5) {
		case 0:
			return []byte("\x00\x00\x00\x02{}\x00\x00\x00\x05[1,2]")
		case 1:
			return []byte("\x00\x00\x00\x12{\"kind\":\"nothing\"}")
		case 2:
			return []byte("HTTP/1.1 500 Oops\r\n\r\n")
		case 3:
			b := make([]byte, r.IntN(100))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			return b
		}
		return nil
	}
	h.run()
	if m := h.ended(); m.Code != 0 || strings.Count(h.output(1), "\n") != 50 {
		t.Errorf("told %+v, %q", m, h.output(1))
	}
}

func TestAnAgentThatHasOnlyToTellDoesNotKeepTheMachineFromStopping(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "exit 4")
	h.begin()
	clocktest.WaitFor(t, "exit.json", func() bool { _, err := os.Stat(filepath.Join(h.dir, exitFile)); return err == nil })
	h.signals <- os.Interrupt
	h.wait()
	h.start()
	h.begin() // after the machine has started again
	h.wait()
	if m := h.ended(); m.Code != 4 {
		t.Errorf("told %+v", m)
	}
}

// Whoever has the lock need not have done anything yet: it alone says that the folder
// is taken.
func TestAFolderWhoseLockSomebodyHasIsLeftAlone(t *testing.T) {
	h := newHarness(t, "/bin/true")
	taken, err := folder{h.dir}.takeLock()
	if err != nil || taken == nil {
		t.Fatal(taken, err)
	}
	h.run()
	if _, err := os.Lstat(filepath.Join(h.dir, "started")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the second agent has begun: %v", err)
	}
	if n := len(h.all(wire.Running)) + len(h.all(wire.Ended)); n != 0 {
		t.Errorf("the second agent told %d things", n)
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
}
