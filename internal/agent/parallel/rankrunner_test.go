package parallel

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
)

func TestMain(m *testing.M) {
	if code, ours := launchedByTest(os.Args[1:]); ours {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// launchedByTest makes this program the launcher and the limb of a test.
func launchedByTest(args []string) (code int, ours bool) {
	switch {
	case len(args) > 1 && args[0] == "launch":
		return LaunchRemote(args[1:]), true
	case len(args) == 3 && args[0] == "limb":
		line, _ := hex.DecodeString(args[2])
		return RunRanks(args[1] == "yield", string(line)), true
	case len(args) > 1 && args[0] == LeadCommand:
		return LeadParts(args[1:]), true
	case len(args) == 2 && args[0] == ServeCommand:
		return ServeRanks(args[1]), true
	}
	return 0, false
}

// launcher is a launcher whose ssh goes no further than this host.
func launcher(t *testing.T, mark string, words ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	const ssh = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\necho $$ > %s/pid\nexec sh -c \"$3\"\n"
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(fmt.Sprintf(ssh, dir)), 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"launch", "elsewhere"}, words...)...)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "GODWIT_ATTEMPT="+mark)
	t.Cleanup(func() { _, _ = proctree.KillLeftovers(t.Context(), mark) })
	return cmd
}

func TestALauncherEndsAsItsCommand(t *testing.T) {
	for line, want := range map[string]int{"exit 7": 7, `test "a  b" = 'a  b'`: 0, "kill -9 $$": 137,
		"(sleep 0.3; true) & exit 3": 3} {
		err := launcher(t, "gw-test-launch", line).Run()
		code := 0
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			code = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != want {
			t.Errorf("%s: exit code %d, want %d", line, code, want)
		}
	}
}

// Whoever knows the mark can speak for the attempt, and everybody on a host can read
// the command lines of others.
func TestTheMarkOfAnAttemptStandsInNoCommandLine(t *testing.T) {
	mark := fmt.Sprintf("gw-test-secret-%d", os.Getpid())
	file := filepath.Join(t.TempDir(), "lines")
	line := fmt.Sprintf(`echo "$GODWIT_ATTEMPT" > %s; cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' > %s.all; true`,
		file, file)
	if err := launcher(t, mark, line).Run(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != mark+"\n" {
		t.Errorf("the program has the mark %q, %v", got, err)
	}
	lines, err := os.ReadFile(file + ".all")
	if err != nil || !strings.Contains(string(lines), " limb plain ") {
		t.Fatalf("the limb is not among the command lines: %v", err)
	}
	if strings.Contains(string(lines), mark) || strings.Contains(string(lines), hex.EncodeToString([]byte(mark))) {
		t.Error("the mark stands in a command line")
	}
}

func TestWhatWasLaunchedEndsWithItsLauncher(t *testing.T) {
	// A daemon, and one that does not listen, and a child of it.
	const line = `setsid sh -c 'trap "" TERM HUP; sleep 300 & sleep 300' & sh -c '(sleep 300 &) ; exec sleep 300' & sleep 300`
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		mark := fmt.Sprintf("gw-test-limb-%d-%d", os.Getpid(), sig)
		cmd := launcher(t, mark, line)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		clocktest.WaitFor(t, "all to run", func() bool { return living(t, mark) >= 8 })
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was ended
		clocktest.WaitFor(t, "all to be gone", func() bool { return living(t, mark) == 0 })
	}
}

func TestALauncherNotesThatItLostItsHost(t *testing.T) {
	for line, want := range map[string]string{"exit 1": "", "exit 255": "elsewhere"} {
		file := filepath.Join(t.TempDir(), "lost")
		cmd := launcher(t, "gw-test-lost", line)
		cmd.Env = append(cmd.Env, LostVariable+"="+file)
		_ = cmd.Run() // it fails
		if got, _ := os.ReadFile(file); string(got) != want {
			t.Errorf("%s: %q is noted, want %q", line, got, want)
		}
	}
}

func living(t *testing.T, mark string) int {
	t.Helper()
	left, err := proctree.MarkedProcesses(mark)
	if err != nil {
		t.Fatal(err)
	}
	return len(left)
}
