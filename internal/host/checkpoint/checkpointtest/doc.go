// Package checkpointtest is the one suite that every checkpoint method passes:
// programs run, end, fail to run, are saved and go on, are saved, stopped and
// continued elsewhere, and are killed, and whatever happens their output is
// that of an undisturbed run and nothing of them is left. It knows the port and
// how programs are told to save themselves; it must not know any method.
package checkpointtest

import (
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
)

// SaveStyle is how the suite's programs, run by a method, are saved.
type SaveStyle string

const (
	Transparent SaveStyle = "without its knowledge"
	Ends        SaveStyle = "by a signal, at which it writes a file and ends"
	GoesOn      SaveStyle = "by a signal, at which it writes a file and goes on"
	Itself      SaveStyle = "when it likes, by writing a file and ending with code 85"
	Never       SaveStyle = "never"
)

// Fixture is a method to be tested.
type Fixture struct {
	Method checkpoint.Method
	Way    SaveStyle
	Wait   time.Duration // the longest that anything may take; 0: a minute
}

// TestMethod tests a method. The test binary must call RunProgramIfAsked in its TestMain.
func TestMethod(t *testing.T, f Fixture) {
	if f.Wait == 0 {
		f.Wait = time.Minute
	}
	for _, c := range []struct {
		name string
		test func(*testing.T, Fixture)
		only bool // for methods that can save
	}{
		{"a program runs with its arguments, environment and folder", runsAsAsked, false},
		{"exit codes and signals are told as a shell does", tellsExitCodes, false},
		{"programs that cannot be executed say why", saysWhyNot, false},
		{"an undisturbed run gives all output", testUndisturbed, false},
		{"writing to a closed pipe ends a program", closedPipe, false},
		{"killing leaves nothing of any program", killLeavesNothing, false},
		{"a program that is told to end has time for it", terminateGivesTime, false},
		{"a program that does not end when told is killed", terminateEndsTheStubborn, false},
		{"who is told to end may be killed sooner", terminateMayBeHastened, false},
		{"killing what has ended, twice, does nothing", killTwice, false},
		{"a fork bomb under a limit ends", forkBomb, false},
		{"what cannot be saved says so and runs on", nothingToSave, false},
		{"what has ended cannot be saved", savedTooLate, false},
		{"a saved program goes on", savedGoesOn, true},
		{"an image of a program that went on continues elsewhere", continuesFromEarlier, true},
		{"a stopped program continues elsewhere, twice", movesTwice, true},
		{"while it is frozen nothing changes", standsStill, true},
		{"a save that fails leaves the program running", failedSaves, true},
		{"a save while it is killed ends", killedWhileSaving, true},
		{"a damaged image is refused", damagedImage, true},
	} {
		if c.only && f.Way == Never {
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.test(t, f) })
	}
}
