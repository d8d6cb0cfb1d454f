package adaptive

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/godwit-hpc/godwit/internal/agent"
	"github.com/godwit-hpc/godwit/internal/experiment/loads"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint/sandbox/sandboxtest"
)

// The test binary is also the agent of its brokers and the program of its jobs,
// so that the tests need neither a compiler nor an interpreter.
func TestMain(m *testing.M) {
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == "agent":
		os.Exit(agent.RunAgent(args[1]))
	case len(args) == 1 && args[0] == "spin":
		if err := loads.Spin(os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case filepath.Base(os.Args[0]) == burnName:
		compute(args[0])
	default:
		os.Exit(testMain(m))
	}
}

func testMain(m *testing.M) int {
	self, err := os.Executable()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	sandbox, err := sandboxtest.BuiltBinary()
	if err == nil {
		err = os.Symlink(sandbox, filepath.Join(filepath.Dir(self), "godwit-sandbox"))
	}
	if err != nil && !os.IsExist(err) {
		fmt.Println(err)
		return 1
	}
	return m.Run()
}

// compute does about so many seconds of work.
func compute(seconds string) {
	s, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	x, n := uint64(1), int(100*s)
	for i := range n {
		for range 10_000_000 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		if (i+1)%10 == 0 {
			fmt.Printf("step %d/%d\n", i+1, n)
		}
	}
	fmt.Println(x)
}

func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// examples is a folder with the program of the tests.
func examples(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(self(t))
	dir := t.TempDir()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, burnName), data, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// computing is the program of the tests.
func computing(t *testing.T) Program {
	t.Helper()
	list, err := FindPrograms(examples(t))
	if err != nil {
		t.Fatal(err)
	}
	list[0].Progress = `step (\d+)/(\d+)`
	return list[0]
}

func newBed(t *testing.T) *Bed {
	t.Helper()
	b, err := NewBed(t.Context(), []string{self(t), "agent"}, 200e6)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(b.Dir); !os.IsNotExist(err) {
			t.Errorf("%s is left", b.Dir)
		}
	})
	return b
}
