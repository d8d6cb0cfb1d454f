package native

import (
	"os"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint/checkpointtest"
)

func TestMain(m *testing.M) {
	checkpointtest.Main()
	os.Exit(m.Run())
}

var quick = Options{Grace: 100 * time.Millisecond, Patience: 200 * time.Millisecond}

func TestSignalPassesTheSuiteWithProgramsThatEnd(t *testing.T) {
	checkpointtest.Suite(t, checkpointtest.Fixture{Method: Signal(quick), Way: checkpointtest.Ends})
}

func TestSignalPassesTheSuiteWithProgramsThatGoOn(t *testing.T) {
	checkpointtest.Suite(t, checkpointtest.Fixture{Method: Signal(quick), Way: checkpointtest.GoesOn})
}

func TestExit85PassesTheSuite(t *testing.T) {
	checkpointtest.Suite(t, checkpointtest.Fixture{Method: Exit85(quick), Way: checkpointtest.Itself})
}

func TestRestartPassesTheSuite(t *testing.T) {
	checkpointtest.Suite(t, checkpointtest.Fixture{Method: Restart(quick), Way: checkpointtest.Never})
}
