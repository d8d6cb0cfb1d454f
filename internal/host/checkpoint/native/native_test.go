package native

import (
	"os"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint/checkpointtest"
)

func TestMain(m *testing.M) {
	checkpointtest.RunProgramIfAsked()
	os.Exit(m.Run())
}

var quick = Options{Grace: 100 * time.Millisecond, Patience: 200 * time.Millisecond}

func TestSignalPassesTheSuiteWithProgramsThatEnd(t *testing.T) {
	checkpointtest.TestMethod(t, checkpointtest.Fixture{Method: SignalMethod(quick), Way: checkpointtest.Ends})
}

func TestSignalPassesTheSuiteWithProgramsThatGoOn(t *testing.T) {
	checkpointtest.TestMethod(t, checkpointtest.Fixture{Method: SignalMethod(quick), Way: checkpointtest.GoesOn})
}

func TestExit85PassesTheSuite(t *testing.T) {
	checkpointtest.TestMethod(t, checkpointtest.Fixture{Method: ExitMethod(quick), Way: checkpointtest.Itself})
}

func TestRestartPassesTheSuite(t *testing.T) {
	checkpointtest.TestMethod(t, checkpointtest.Fixture{Method: RestartMethod(quick), Way: checkpointtest.Never})
}
