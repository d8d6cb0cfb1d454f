package batchtest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// insideVariable is set where a test program runs as an ordinary user on the head
// of a cluster.
const insideVariable = "GODWIT_TEST_INSIDE"

// IsInside says that this program runs there.
func IsInside() bool { return os.Getenv(insideVariable) != "" }

// Cluster is a real cluster, as much of it as is needed to enter it.
type Cluster struct {
	Dir     string                         // its hosts see this folder
	Home    string                         // of the ordinary user
	Command func(argv ...string) *exec.Cmd // of that user on its head
	Do      func(words ...string) error    // does something to the cluster
}

// EnterCluster runs this program once more on the head of a cluster, as an ordinary
// user, with these flags: there a driver is where it belongs. What is done to the
// cluster is done out here, when those inside ask for it with DoOutside. It returns
// what they printed.
func EnterCluster(t testing.TB, c Cluster, flags ...string) string {
	t.Helper()
	program := filepath.Join(c.Dir, "inside.test")
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, data, 0o755); err != nil { // all on the hosts run it
		t.Fatal(err)
	}
	asks, toAsk, err1 := os.Pipe()
	toAnswer, answers, err2 := os.Pipe()
	out, err3 := os.Create(filepath.Join(c.Dir, "inside.out"))
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	defer func() { _, _, _ = asks.Close(), answers.Close(), out.Close() }() // what was written is read below
	cmd := c.Command(append([]string{"env", insideVariable + "=1", "TMPDIR=" + c.Home, program}, flags...)...)
	cmd.ExtraFiles = []*os.File{toAsk, toAnswer}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = toAsk.Close(), toAnswer.Close()
	for lines := bufio.NewScanner(asks); lines.Scan(); {
		answer := "done"
		if err := c.Do(strings.Fields(lines.Text())...); err != nil {
			answer = err.Error()
		}
		_, _ = fmt.Fprintln(answers, strings.ReplaceAll(answer, "\n", " "))
	}
	failed := cmd.Wait()
	said, err := os.ReadFile(out.Name())
	if failed != nil || err != nil {
		t.Fatalf("%v, %v\n%s", failed, err, said)
	}
	return string(said)
}

// What those inside ask by. Files that nobody holds are closed.
var (
	toAsk    = sync.OnceValue(func() *os.File { return os.NewFile(3, "asks") })
	toAnswer = sync.OnceValue(func() *bufio.Reader { return bufio.NewReader(os.NewFile(4, "answers")) })
)

// DoOutside has something done to the cluster that this program is inside of.
func DoOutside(t testing.TB, words ...string) {
	t.Helper()
	if _, err := fmt.Fprintln(toAsk(), strings.Join(words, " ")); err != nil {
		t.Fatal(err)
	}
	answer, err := toAnswer().ReadString('\n')
	if err != nil || strings.TrimSpace(answer) != "done" {
		t.Fatalf("%v: %s, %v", words, answer, err)
	}
}
