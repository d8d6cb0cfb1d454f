package local

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver/local/load"
)

func TestAgentsOfTheSameBrokerAsOtherUsersAreNoStrangers(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "word", "attempts", "1.1")
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(folder, 0o600); err != nil { // reading it takes as long as the test wants
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/cat", "agent", folder)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	found := func(part string, own ...load.OwnAttempt) bool {
		k := &otherUsers{folder: part, clock: clock.RealClock()}
		for _, o := range k.addOtherUsers(own)[len(own):] {
			if o.Agent == cmd.Process.Pid {
				return true
			}
		}
		return false
	}
	clocktest.WaitFor(t, "it to be found", func() bool { return found("/word/attempts/") })
	if found("/other/attempts/") || found("") {
		t.Error("a stranger is taken for one of us")
	}
	if found("/word/attempts/", load.OwnAttempt{Agent: cmd.Process.Pid}) {
		t.Error("one of our own is counted twice")
	}
}
