package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/godwit-hpc/godwit/internal/checkpoint/sandbox"
)

// programs is the folder of the programs that the tests run, made once. An
// ordinary user finds it in this variable.
const programsVariable = "GODWIT_TEST_PROGRAMS"

var programs string

// ordinaryUser is a number that no account has. The tests run as root and, in a
// process of their own, as this user.
const ordinaryUser = 54321

func TestMain(m *testing.M) {
	if err := setUp(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	leaks := goleak.IgnoreCurrent()
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(leaks); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if os.Getenv(programsVariable) == "" {
		_ = os.RemoveAll(programs)
	}
	os.Exit(code)
}

// setUp finds the sandbox and makes the programs.
func setUp() error {
	if programs = os.Getenv(programsVariable); programs != "" {
		return nil
	}
	binary, err := filepath.Abs("../../../build/godwit-sandbox")
	if err != nil {
		return err
	}
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("these tests need %s: run `make sandbox`", binary)
	}
	if programs, err = os.MkdirTemp("", "godwit-programs"); err != nil {
		return err
	}
	// Others than root are to find everything here, wherever the sources lie.
	if err := os.Chmod(programs, 0o755); err != nil {
		return err
	}
	for _, c := range []*exec.Cmd{
		exec.Command("cp", "testdata/pipeline.sh", "testdata/stats.py", binary, programs),
		exec.Command("cc", "-O1", "-o", filepath.Join(programs, "heap"), "testdata/heap.c"),
		exec.Command("cc", "-O1", "-static", "-o", filepath.Join(programs, "heap-static"), "testdata/heap.c"),
		exec.Command("cc", "-O1", "-pthread", "-o", filepath.Join(programs, "cost"), "testdata/cost.c"),
		exec.Command("go", "build", "-o", filepath.Join(programs, "threads"), "./testdata/threads"),
	} {
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", c.Args, err, out)
		}
	}
	return os.Setenv("GODWIT_SANDBOX", filepath.Join(programs, "godwit-sandbox"))
}

// TestAllOfThisHoldsForAnOrdinaryUser runs the tests again as one.
func TestAllOfThisHoldsForAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		return // this is one
	}
	home := filepath.Join(t.TempDir(), "home")
	for dir := home; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	test := filepath.Join(home, "sandbox.test")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", self, test).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Chown(home, ordinaryUser, ordinaryUser); err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.count=1", "-test.timeout=10m"}
	if testing.Verbose() {
		args = append(args, "-test.v")
	}
	cmd := exec.Command(test, args...)
	cmd.Dir = home
	cmd.Env = []string{
		"HOME=" + home, "TMPDIR=" + home, "PATH=/usr/bin:/bin", programsVariable + "=" + programs,
		"GODWIT_SANDBOX=" + filepath.Join(programs, "godwit-sandbox"),
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{
		Uid: ordinaryUser, Gid: ordinaryUser, Groups: []uint32{ordinaryUser + 1},
	}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("as an ordinary user: %v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func TestTheSandboxIsAvailable(t *testing.T) {
	for range 2 { // the second answer is remembered
		if ok, why := sandbox.Available(t.Context()); !ok || why != "" {
			t.Fatalf("available %v, why %q; want true and nothing", ok, why)
		}
	}
}

func TestThePathOfTheBinaryMayBeNamed(t *testing.T) {
	t.Setenv("GODWIT_SANDBOX", "/nowhere/godwit-sandbox")
	if ok, why := sandbox.Available(t.Context()); ok || why == "" {
		t.Errorf("available %v, why %q; want false and the missing file", ok, why)
	}
}

func TestTheProcessorHasFeatures(t *testing.T) {
	list, err := sandbox.CPUFeatures(t.Context())
	if err != nil || len(list) < 10 {
		t.Errorf("features %v, error %v", list, err)
	}
}
