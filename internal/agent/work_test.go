package agent

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// pushWork brings files to the depot as a submission would.
func (h *harness) pushWork(files map[string]string) {
	h.t.Helper()
	dir := h.t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			h.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			h.t.Fatal(err)
		}
	}
	id, _, _, err := depot.PushFolder(h.t.Context(), dir, h.store, depot.PushOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	h.attempt.Work = string(id)
}

func TestAProgramFindsItsFilesAndWhatItChangesComesBack(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "cat in/data; echo more >>in/data; rm gone; echo new >report; exit 1")
	h.pushWork(map[string]string{"in/data": "text\n", "gone": "x", "kept": "y"})
	unreached := h.whenUnreached()
	h.begin()
	receiveSignal(t, "an agent that finds no broker", unreached)
	h.start()
	h.wait()
	m := h.ended()
	if m.Code != 1 || h.output(1) != "text\n" || m.Result == "" {
		t.Fatalf("told %+v, output %q", m, h.output(1))
	}
	dir := h.fetch(m.Result)
	for name, want := range map[string]string{"in/data": "text\nmore\n", "report": "new\n", "kept": "y"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != want {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "gone")); err == nil {
		t.Error("a file that was removed comes back")
	}
}

func TestHowMuchCameAndWentIsTold(t *testing.T) {
	const size = 100_000
	random := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(random) // cannot fail
	h := newHarness(t, "/bin/sh", "-c", "head -c 200000 /dev/urandom >new")
	h.pushWork(map[string]string{"data": string(random)})
	h.run()
	came, went := h.all(wire.Running)[0].Carried, h.ended().Carried
	if came.Bytes < size || came.Bytes > 2*size || came.Took <= 0 {
		t.Errorf("what came is %+v", came)
	}
	if went.Bytes < 2*size || went.Bytes > 3*size || went.Took <= 0 { // without what came, which is there
		t.Errorf("what went is %+v", went)
	}
}

func TestAnUnchangedFolderIsNotSentBack(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "cat data")
	h.pushWork(map[string]string{"data": "text\n", "sub/other": "z"})
	h.run()
	if m := h.ended(); m.Code != 0 || m.Result != "" || h.output(1) != "text\n" {
		t.Errorf("told %+v", m)
	}
}

func TestAWorkFolderThatIsDamagedLosesTheAttempt(t *testing.T) {
	h := newHarness(t, "/bin/true")
	h.attempt.Work = string(chunk.IDOf([]byte("what nobody has")))
	h.run()
	if m := h.ended(); m.Kind != wire.Lost || m.Cause != wire.WorkDamaged || !strings.Contains(m.Why, "submit it again") {
		t.Errorf("told %+v", m)
	}
}

func TestTheResultIsBroughtEvenIfTheAgentDiesBefore(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "echo made >file; echo done; exit 2")
	h.write()
	agent := h.spawn()
	clocktest.WaitFor(t, "the end", func() bool { _, err := os.Stat(filepath.Join(h.dir, endedFile)); return err == nil })
	_ = agent.Process.Kill()
	_ = agent.Wait()
	if _, err := os.Stat(filepath.Join(h.dir, exitFile)); err == nil {
		t.Fatal("it has told its end without a broker to bring the result to")
	}
	h.start()
	if err := h.spawn().Wait(); err != nil {
		t.Fatal(err)
	}
	m := h.ended()
	if m.Kind != wire.Ended || m.Code != 2 || h.output(1) != "done\n" {
		t.Fatalf("told %+v, %q", m, h.output(1))
	}
	if text, err := os.ReadFile(filepath.Join(h.fetch(m.Result), "file")); err != nil || string(text) != "made\n" {
		t.Errorf("the result holds %q, %v", text, err)
	}
}
