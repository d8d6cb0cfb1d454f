package gridengine_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/godwit-hpc/godwit/internal/agent"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/driver/batch/batchtest"
	"github.com/godwit-hpc/godwit/internal/driver/gridengine"
	"github.com/godwit-hpc/godwit/internal/lab/gridengine/gridenginetest"
)

func TestMain(m *testing.M) {
	batchtest.ActAsAgent(agent.RunGuard, agent.RunAgent)
	goleak.VerifyTestMain(m)
}

// onACell makes a cell and runs this program once more on its head.
func onACell(t testing.TB, nodes, slots int, flags ...string) string {
	t.Helper()
	c := gridenginetest.Start(t, nodes, slots)
	return batchtest.EnterCluster(t,
		batchtest.Cluster{Dir: c.Dir, Home: c.User.Home, Command: c.UserCommand, Do: func(words ...string) error {
			switch words[0] {
			case "stop":
				c.StopMaster()
			case "start":
				c.StartMaster()
				c.AwaitReady()
			case "kill":
				c.KillExecd(words[1])
			case "revive":
				c.StartExecd(words[1])
				c.AwaitReady()
			default: // a command of Grid Engine, as root
				out, err := exec.Command(filepath.Join(c.Commands, words[0]), words[1:]...).CombinedOutput()
				if err != nil {
					return fmt.Errorf("%w: %s", err, out)
				}
			}
			return nil
		}}, flags...)
}

func newManager(t testing.TB, o gridengine.Options) *gridengine.Manager {
	t.Helper()
	m, err := gridengine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func newWorld(t testing.TB, o gridengine.Options, change func(*batch.Options)) *batchtest.World {
	t.Helper()
	return batchtest.New(t, t.TempDir(), newManager(t, o), change)
}
