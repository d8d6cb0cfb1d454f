package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint/checkpointtest"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint/sandbox"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint/sandbox/sandboxtest"
)

// programsVariable names the folder of the programs that the tests run to the
// ordinary user, for whom they are already made.
const programsVariable = "GODWIT_TEST_PROGRAMS"

// forAGroup is a file that root may read and a group that the ordinary user
// belongs to, but not by its first number.
const forAGroup = "for-a-group"

// ordinaryUser is a number that no account has. The tests run as root and, in a
// process of their own, as this user.
const ordinaryUser = 54321

// made is where the programs of the tests are, once a test has needed them.
var made struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	checkpointtest.RunProgramIfAsked()
	if os.Getenv("GODWIT_SANDBOX") == "" {
		if binary, err := sandboxtest.BuiltBinary(); err == nil {
			_ = os.Setenv("GODWIT_SANDBOX", binary)
		}
	}
	leaks := goleak.IgnoreCurrent()
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(leaks); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if os.Getenv(programsVariable) == "" && made.dir != "" {
		_ = os.RemoveAll(made.dir)
	}
	os.Exit(code)
}

// programs is the folder of the programs that the tests run, which everybody
// can read. They are made when first needed.
func programs(t testing.TB) string {
	t.Helper()
	made.once.Do(func() { made.err = makePrograms() })
	if made.err != nil {
		t.Fatal(made.err)
	}
	return made.dir
}

func makePrograms() error {
	if made.dir = os.Getenv(programsVariable); made.dir != "" {
		return nil
	}
	binary := os.Getenv("GODWIT_SANDBOX")
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("these tests need the sandbox: run `make sandbox` (%w)", err)
	}
	var err error
	// Not in /tmp, which is another one inside.
	if made.dir, err = os.MkdirTemp("/var/tmp", "godwit-programs"); err != nil {
		return err
	}
	if err := os.Chmod(made.dir, 0o755); err != nil {
		return err
	}
	in := func(name string) string { return filepath.Join(made.dir, name) }
	for _, c := range []*exec.Cmd{
		exec.Command("cp", "testdata/pipeline.sh", "testdata/stats.py", "testdata/gpuloop.py", binary, made.dir),
		exec.Command("cc", "-O1", "-shared", "-fPIC", "-o", in("libcuda.so.1"), "testdata/cuda.c"),
		exec.Command("cc", "-O1", "-o", in("heap"), "testdata/heap.c"),
		exec.Command("cc", "-O1", "-static", "-o", in("heap-static"), "testdata/heap.c"),
		exec.Command("cc", "-O1", "-pthread", "-o", in("cost"), "testdata/cost.c"),
		exec.Command("go", "build", "-o", in("threads"), "./testdata/threads"),
	} {
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", c.Args, err, out)
		}
	}
	if err := os.WriteFile(in(forAGroup), []byte(forAGroup), 0o640); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		return os.Chown(in(forAGroup), 0, ordinaryUser+1)
	}
	return nil
}

// TestAllOfThisHoldsForAnOrdinaryUser runs the tests again as one.
func TestAllOfThisHoldsForAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		return // this is one
	}
	asOrdinaryUser(t, ".")
}

// Tests of what images hold, which is the same whoever makes them; they take longest, and
// programs of ordinary users move in the suite of all methods.
const whoeverMakesImages = "TestLargeWritesSurviveMoves|TestProgramsMovedTwiceEndAsIfNothingHadHappened|" +
	"TestAProgramThatRunsOnCanBeContinuedFromEachOfItsImages"

// asOrdinaryUser runs tests as an ordinary user, with variables in the
// environment.
func asOrdinaryUser(t *testing.T, tests string, env ...string) {
	t.Helper()
	home := openFolder(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	test := filepath.Join(home, "sandbox.test")
	copyTree(t, self, test)
	if err := os.Chown(home, ordinaryUser, ordinaryUser); err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.count=1", "-test.timeout=10m", "-test.run=" + tests, "-test.skip=" + whoeverMakesImages}
	if testing.Verbose() {
		args = append(args, "-test.v")
	}
	cmd := exec.Command(test, args...)
	cmd.Dir = home
	cmd.Env = append(env,
		"HOME="+home, "TMPDIR="+home, "PATH=/usr/bin:/bin", programsVariable+"="+programs(t),
		"GODWIT_SANDBOX="+filepath.Join(programs(t), "godwit-sandbox"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{
		Uid: ordinaryUser, Gid: ordinaryUser, Groups: []uint32{ordinaryUser + 1},
	}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("as an ordinary user: %v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// openFolder is a folder that everybody can reach.
func openFolder(t *testing.T) string {
	t.Helper()
	open := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	for dir := open; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return open
}

func TestTheSandboxPassesTheSuiteOfAllMethods(t *testing.T) {
	programs(t) // says what to do where the sandbox is missing
	checkpointtest.TestMethod(t, checkpointtest.Fixture{
		Method: sandbox.Method{}, Way: checkpointtest.Transparent, Wait: limit,
	})
}

func TestTheSandboxIsAvailable(t *testing.T) {
	for range 2 { // the second answer is remembered
		if ok, why := sandbox.IsAvailable(t.Context()); !ok || why != "" {
			t.Fatalf("available %v, why %q; want true and nothing", ok, why)
		}
	}
}

func TestThePathOfTheBinaryMayBeNamed(t *testing.T) {
	t.Setenv("GODWIT_SANDBOX", "/nowhere/godwit-sandbox")
	if ok, why := sandbox.IsAvailable(t.Context()); ok || why == "" {
		t.Errorf("available %v, why %q; want false and the missing file", ok, why)
	}
}

func TestTheProcessorHasFeatures(t *testing.T) {
	list, err := sandbox.CPUFeatures(t.Context())
	if err != nil || len(list) < 10 {
		t.Errorf("features %v, error %v", list, err)
	}
}
