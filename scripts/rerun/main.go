// Command rerun decides what becomes of a test run that failed: tests that are named here,
// each with its reason, are run once more by themselves; any other failure stands.
//
//	rerun EVENTS [FLAG...]
//
// EVENTS is what go test -json wrote, FLAGs are those of go test.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const module = "github.com/godwit-hpc/godwit/"

// measured are the tests that measure the machine they run on. What they compare depends on
// what else runs there, so that one failure may be the machine's. No other test is repeated.
var measured = map[string]string{
	"TestTheDeadlineIsMetWithMigrationAndMissedWithout": "the demo: competitors take a real CPU away, and other load on " +
		"it counts too",
	"TestAJobIsMovedAwayFromOthersAndMeetsItsDeadline": "as the demo: real competitors, a real deadline",
	"TestRealRunsUnderChangingLoadAreJudgedAndKept":    "predictions of real runs are judged while load changes",
	"TestAGridOfRealClusters": "in one part a job is moved by real load, on hosts that share " +
		"this machine",
	"TestSpeedAndLoadAreAsPlanned":                     "compares the CPU time that hosts of a lab get",
	"TestLinksAreAsPlanned":                            "compares the rates and delays of links of a lab",
	"TestSensorsMeasureWhatTheLinksAreAndDoNotDisturb": "compares measured rates with those of links",
	"TestAWayThatLosesPacketsIsNotTakenForASlowerOne":  "compares measured rates with those of links",
	"TestHalfTheWorkIsTwiceTheSpeed":                   "compares the times of two runs of one loop",
}

// event is one line of go test -json.
type event struct {
	Action, Package, Test string
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: rerun EVENTS [FLAG...]")
		os.Exit(2)
	}
	f, err := os.Open(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	failed, err := failedTests(f)
	if err == nil {
		err = repeatAll(failed, os.Args[2:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// failedTests are the tests that failed, by package; "" stands for a package that failed
// without one, because it was not built or was ended.
func failedTests(events io.Reader) (map[string][]string, error) {
	failed := map[string][]string{}
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Action != "fail" || e.Package == "" {
			continue // a line of the linker, say
		}
		name, _, _ := strings.Cut(e.Test, "/") // a part fails its whole test
		pkg := strings.TrimPrefix(e.Package, module)
		if name == "" && len(failed[pkg]) > 0 || slices.Contains(failed[pkg], name) {
			continue
		}
		failed[pkg] = append(failed[pkg], name)
	}
	return failed, lines.Err()
}

// unmeasured are the failures that stand.
func unmeasured(failed map[string][]string) (list []string) {
	for pkg, tests := range failed {
		for _, name := range tests {
			if measured[name] == "" {
				list = append(list, strings.TrimSpace(pkg+" "+name))
			}
		}
	}
	slices.Sort(list)
	return list
}

func repeatAll(failed map[string][]string, flags []string) error {
	if len(failed) == 0 {
		return errors.New("the run failed though no test did")
	}
	if stand := unmeasured(failed); len(stand) > 0 {
		return fmt.Errorf("failed: %s", strings.Join(stand, ", "))
	}
	for pkg, tests := range failed {
		for _, name := range tests {
			fmt.Printf("once more: %s %s (%s)\n", pkg, name, measured[name])
		}
		args := append(append([]string{"test"}, flags...), "-run", "^("+strings.Join(tests, "|")+")$", "./"+pkg)
		cmd := exec.Command("go", args...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s failed twice: %s", pkg, strings.Join(tests, ", "))
		}
	}
	return nil
}
