package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/lab"
)

// labBed has a plan, and folders for labs and brokers of its own.
func labBed(t *testing.T) (plan string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "gwl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GODWIT_LABS", filepath.Join(dir, "labs"))
	t.Setenv("GODWIT_STATE", filepath.Join(dir, "state"))
	plan = filepath.Join(dir, "tiny.yaml")
	text := "users: [alice]\nclusters: [{name: north, hosts: 2, cpus: 0.3, mbps: 100}]\n"
	if err := os.WriteFile(plan, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return plan
}

// godwit runs a command and wants its exit code.
func godwit(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	if got := RunCommand("v0-test", args, strings.NewReader(""), &out, &errs); got != code {
		t.Fatalf("godwit %s ends with %d, not %d: %s%s", strings.Join(args, " "), got, code, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

func TestALabOnTheCommandLine(t *testing.T) {
	plan := labBed(t)
	if err := lab.CheckAble(); err != nil {
		if _, said := godwit(t, term.ExitFailed, "lab", "up", plan); !strings.Contains(said, "root") ||
			!strings.Contains(said, "--plain") {
			t.Errorf("without root: %s", said)
		}
		return
	}
	t.Cleanup(func() { godwit(t, term.ExitDone, "lab", "down", "--all") })
	if out, _ := godwit(t, term.ExitDone, "lab", "list", "-o", "json"); out != "[]\n" {
		t.Errorf("labs before there is one: %s", out)
	}
	godwit(t, term.ExitDone, "lab", "up", "--no-broker", plan)
	godwit(t, term.ExitBadInput, "lab", "up", "--no-broker", plan) // it is up
	if out, _ := godwit(t, term.ExitDone, "lab", "exec", "--user", "alice", "north2", "sh", "-c",
		"hostname; whoami"); out != "north2\nalice\n" {
		t.Errorf("a command on a host: %q", out)
	}
	godwit(t, 7, "lab", "exec", "north1", "sh", "-c", "exit 7")
	godwit(t, 7, "lab", "exec", "north1", "--", "sh", "-c", "exit 7")
	godwit(t, term.ExitDone, "lab", "do", "load", "north1", "1")
	godwit(t, term.ExitDone, "lab", "do", "cut", "north")
	godwit(t, term.ExitBadInput, "lab", "do", "load", "nowhere", "1")
	out, _ := godwit(t, term.ExitDone, "lab", "list", "-o", "json")
	var labs []struct {
		Sites []struct{ Cut bool }
		Hosts []struct{ Load int }
	}
	if err := json.Unmarshal([]byte(out), &labs); err != nil || len(labs) != 1 || len(labs[0].Hosts) != 3 ||
		labs[0].Hosts[1].Load != 1 || !labs[0].Sites[1].Cut {
		t.Errorf("the list for programs: %v %s", err, out)
	}
	if out, _ := godwit(t, term.ExitDone, "lab", "ls"); !strings.Contains(out, "10.77.1.1  up, cut off, load 1") {
		t.Errorf("the list for people:\n%s", out)
	}
	godwit(t, term.ExitDone, "lab", "down")
	godwit(t, term.ExitBadInput, "lab", "down")
	godwit(t, term.ExitDone, "lab", "down", "tiny")

	scenario := filepath.Join(filepath.Dir(plan), "s.yaml")
	text := "plan: tiny.yaml\nsteps:\n  - {on: north1, as: alice, check: hostname, says: north1}\n  - {on: north1, " +
		"check: hostname, says: south, within: 300ms}\n"
	if err := os.WriteFile(scenario, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, said := godwit(t, term.ExitFailed, "lab", "run", scenario); !strings.Contains(out, "holds after") ||
		!strings.Contains(said, "2 steps") || !strings.Contains(said, "1 of 2 checks failed") {
		t.Errorf("a scenario: %s%s", out, said)
	}
	if names, err := lab.ListLabs(); err != nil || len(names) > 0 {
		t.Errorf("left of a scenario: %v %v", names, err)
	}
}

func TestLabDownAllRemovesAlsoWhatIsLeftOfALabThatWasKilled(t *testing.T) {
	labBed(t)
	if err := lab.CheckAble(); err != nil {
		t.Skip(err)
	}
	lock := filepath.Join(lab.BaseFolder(), ".tiny.lock") // the last that lab down removes
	if err := os.MkdirAll(lab.BaseFolder(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, said := godwit(t, term.ExitDone, "lab", "list"); !strings.Contains(said, "no lab is up") {
		t.Errorf("a lock is listed as a lab: %s", said)
	}
	godwit(t, term.ExitDone, "lab", "down", "--all")
	if _, err := os.Stat(lock); !os.IsNotExist(err) {
		t.Errorf("the lock is still there: %v", err)
	}
}
