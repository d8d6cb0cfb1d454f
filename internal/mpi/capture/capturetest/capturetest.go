// Package capturetest captures programs for tests: it builds the library, the kernels
// and programs of tests, and says what programs said that they had sent. It must not
// know what is tested.
package capturetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/godwit-hpc/godwit/internal/mpi/capture"
	"github.com/godwit-hpc/godwit/internal/mpi/mpirun"
)

// ProjectRoot is the project's folder.
func ProjectRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatal("no go.mod above this folder", err)
	return ""
}

// MakeTargets builds targets of the Makefile and returns the project's folder.
func MakeTargets(t testing.TB, targets ...string) string {
	t.Helper()
	root := ProjectRoot(t)
	cmd := exec.Command("make", append([]string{"--no-print-directory"}, targets...)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make %v: %v\n%s", targets, err, out)
	}
	return root
}

// ProgramPath is the path of a kernel.
func ProgramPath(t testing.TB, name string) string {
	t.Helper()
	target := "examples/apps/build/" + name
	return filepath.Join(MakeTargets(t, target), target)
}

// CaptureProgram runs a program on four ranks, with input, and returns its pattern, what it
// printed and how it ended.
func CaptureProgram(t testing.TB, in io.Reader,
	program ...string) (p *capture.Pattern, printed string, code int, err error) {
	t.Helper()
	root := MakeTargets(t, "yield", "capture")
	var out bytes.Buffer
	c := &capture.Command{
		Argv: append([]string{"mpirun", "-n", "4"}, program...), Dir: t.TempDir(),
		Library: filepath.Join(root, "mpi/capture/built/capture.so"),
		Also:    []string{filepath.Join(root, "mpi/yield/built/yield.so")},
		Env:     append(mpirun.RunEnvironment(os.Environ()), "KERNEL_COUNT=1"),
	}
	code, p, err = c.Run(context.Background(), in, &out, &out)
	return p, out.String(), code, err
}

var sentLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^sent (\d+) (\d+) (\d+)$`)
})

// SentMatrix is what a program on so many ranks said that it had sent.
func SentMatrix(t testing.TB, ranks int, printed string) [][]int64 {
	t.Helper()
	m := make([][]int64, ranks)
	for i := range m {
		m[i] = make([]int64, ranks)
	}
	found := sentLine().FindAllStringSubmatch(printed, -1)
	if len(found) == 0 {
		t.Fatalf("it did not say what it sent:\n%s", printed)
	}
	for _, line := range found {
		from, _ := strconv.Atoi(line[1])
		to, _ := strconv.Atoi(line[2])
		n, err := strconv.ParseInt(line[3], 10, 64)
		if err != nil || from >= ranks || to >= ranks {
			t.Fatalf("it said %q", line[0])
		}
		m[from][to] += n
	}
	return m
}

// MatrixLines is a matrix to be compared, one row a line.
func MatrixLines(m [][]int64) string {
	var b strings.Builder
	for _, row := range m {
		fmt.Fprintln(&b, row)
	}
	return b.String()
}
