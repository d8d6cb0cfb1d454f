package slurm_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/godwit-hpc/godwit/internal/agent"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/driver/batch/batchtest"
	"github.com/godwit-hpc/godwit/internal/driver/slurm"
	"github.com/godwit-hpc/godwit/internal/lab/slurm/slurmtest"
)

func TestMain(m *testing.M) {
	batchtest.ActAsAgent(agent.RunGuard, agent.RunAgent)
	goleak.VerifyTestMain(m)
}

// inside is set where this program runs as an ordinary user on the head of a
// cluster.
const inside = "GODWIT_TEST_INSIDE"

// onACluster makes a cluster and runs this program once more on its head, as an
// ordinary user, with these flags: there a driver is where it belongs. What is
// done to the cluster is done out here, when those inside ask for it.
func onACluster(t testing.TB, nodes, cpus int, flags []string, more ...string) string {
	t.Helper()
	return onAClusterAs(t, alice, nodes, cpus, flags, more...)
}

// Who runs the program there: an ordinary user, or root.
const alice, root = "alice", "root"

func onAClusterAs(t testing.TB, who string, nodes, cpus int, flags []string, more ...string) string {
	t.Helper()
	c := slurmtest.Start(t, nodes, cpus, more...)
	program := filepath.Join(c.Dir, "inside.test")
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, data, 0o755); err != nil {
		t.Fatal(err)
	}
	asks, toAsk, err1 := os.Pipe()
	toAnswer, answers, err2 := os.Pipe()
	out, err3 := os.Create(filepath.Join(c.Dir, "inside.out"))
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	defer asks.Close()
	defer answers.Close()
	defer out.Close()
	argv := append([]string{"env", inside + "=1", "SLURM_CONF=" + c.Env["SLURM_CONF"], "TMPDIR=" + c.User.Home, program},
		flags...)
	cmd := c.UserCommand(argv...)
	if who == root {
		cmd = c.Hosts.Head.Command(context.Background(), argv...)
	}
	cmd.ExtraFiles = []*os.File{toAsk, toAnswer}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = toAsk.Close(), toAnswer.Close()
	serve(c, asks, answers)
	failed := cmd.Wait()
	said, err := os.ReadFile(out.Name())
	if failed != nil || err != nil {
		t.Fatalf("%v, %v\n%s", failed, err, said)
	}
	return string(said)
}

// serve does what those inside ask for, until they have ended.
func serve(c *slurmtest.Cluster, asks io.Reader, answers io.Writer) {
	lines := bufio.NewScanner(asks)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		answer := "done"
		switch f[0] {
		case "stop":
			c.StopController()
		case "start":
			c.StartController()
		case "restart":
			c.RestartController()
		case "kill":
			c.KillNodeDaemon(f[1])
		case "revive":
			c.StartNodeDaemon(f[1])
			c.AwaitReady()
		default: // a command of Slurm, as root
			out, err := c.Hosts.Head.Command(context.Background(),
				append([]string{"env", "SLURM_CONF=" + c.Env["SLURM_CONF"]}, f...)...).CombinedOutput()
			if err != nil {
				answer = fmt.Sprintf("%v: %s", err, out)
			}
		}
		fmt.Fprintln(answers, strings.ReplaceAll(answer, "\n", " "))
	}
}

// What those inside ask by. Files that nobody holds are closed.
var (
	toAsk    = sync.OnceValue(func() *os.File { return os.NewFile(3, "asks") })
	toAnswer = sync.OnceValue(func() *os.File { return os.NewFile(4, "answers") })
)

// outside has something done to the cluster.
func outside(t testing.TB, words ...string) {
	t.Helper()
	if _, err := fmt.Fprintln(toAsk(), strings.Join(words, " ")); err != nil {
		t.Fatal(err)
	}
	answer, err := bufio.NewReader(toAnswer()).ReadString('\n')
	if err != nil || strings.TrimSpace(answer) != "done" {
		t.Fatalf("%v: %s, %v", words, answer, err)
	}
}

func newWorld(t testing.TB, o slurm.Options, change func(*batch.Options)) *batchtest.World {
	t.Helper()
	return batchtest.New(t, t.TempDir(), slurm.New(o), change)
}
