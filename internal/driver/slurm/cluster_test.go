package slurm_test

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
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

// onACluster makes a cluster and runs this program once more on its head, as an ordinary user.
func onACluster(t testing.TB, nodes, cpus int, flags []string, more ...string) string {
	t.Helper()
	return onAClusterAs(t, alice, nodes, cpus, flags, more...)
}

// Who runs the program there: an ordinary user, or root.
const alice, root = "alice", "root"

func onAClusterAs(t testing.TB, who string, nodes, cpus int, flags []string, more ...string) string {
	t.Helper()
	c := slurmtest.Start(t, nodes, cpus, more...)
	asRoot := func(argv ...string) *exec.Cmd { return c.Hosts.Head.Command(context.Background(), argv...) }
	run := c.UserCommand
	if who == root {
		run = asRoot
	}
	settings := []string{"env", "SLURM_CONF=" + c.Env["SLURM_CONF"]}
	return batchtest.EnterCluster(t, batchtest.Cluster{Dir: c.Dir, Home: c.User.Home,
		Command: func(argv ...string) *exec.Cmd { return run(slices.Concat(settings, argv)...) },
		Do: func(words ...string) error {
			switch words[0] {
			case "stop":
				c.StopController()
			case "start":
				c.StartController()
			case "restart":
				c.RestartController()
			case "kill":
				c.KillNodeDaemon(words[1])
			case "revive":
				c.StartNodeDaemon(words[1])
				c.AwaitReady()
			default: // a command of Slurm, as root
				out, err := asRoot(slices.Concat(settings, words)...).CombinedOutput()
				if err != nil {
					return fmt.Errorf("%w: %s", err, out)
				}
			}
			return nil
		}}, flags...)
}

func newWorld(t testing.TB, o slurm.Options, change func(*batch.Options)) *batchtest.World {
	t.Helper()
	return batchtest.New(t, t.TempDir(), slurm.New(o), change)
}
