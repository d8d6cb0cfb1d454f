package daemon_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	report "github.com/godwit-hpc/godwit/program"
)

func init() { roles["reporter"] = reportMain }

// reportMain does what program/testdata/report.c does, in Go.
func reportMain() int {
	link := report.OpenLink()
	link.SetSteps(1, 8)
	link.AddSteps(2)
	link.BeginPhase(`so"lve`)
	link.SendMessage("half\n\"done\" \\ é")
	fmt.Println("agent", map[bool]int{true: 1}[link.HasAgent()])
	signal.Ignore(syscall.SIGTERM)
	fmt.Println("ready")
	for !link.StopWanted() {
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println("stop seen")
	return 0
}

// clients are programs that report, one in each language.
func clients(t *testing.T) map[string]jobfile.Job {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	inGo := job(self)
	inGo.Env["GODWIT_TEST_ROLE"] = "reporter"
	list := map[string]jobfile.Job{"go": inGo}
	if path, err := exec.LookPath("python3"); err == nil {
		inPython := job(path, filepath.Join(root, "program/testdata/report.py"), "stay")
		inPython.Env["PYTHONPATH"], inPython.Env["PYTHONDONTWRITEBYTECODE"] = filepath.Join(root, "program/python"), "1"
		list["python"] = inPython
	}
	if _, err := exec.LookPath("cc"); err == nil {
		binary := filepath.Join(t.TempDir(), "report")
		out, err := exec.Command("cc", "-O2", "-I"+root+"/program/c", "-o", binary, root+"/program/testdata/report.c",
			root+"/program/c/godwit.c").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		list["c"] = job(binary, "stay")
	}
	return list
}

func TestWhatProgramsReportIsShownAndTheySeeThatTheyAreToStop(t *testing.T) {
	b := up(t, twoClusters)
	for language, spec := range clients(t) {
		t.Run(language, func(t *testing.T) {
			b := b.on(t)
			spec.Checkpoint.Method = "restart"
			id := b.submit(spec)
			j := b.until(id, func(j *api.Job) bool { return j.Progress != nil && *j.Progress == 3.0/8 || j.IsOver() })
			if j.State != core.Running {
				t.Fatalf("it is %s, %s: %s%s", j.State, j.Why, b.output(id, 1), b.output(id, 2))
			}
			b.untilNoted(id, "message", `half "done" \ é`)
			b.untilNoted(id, "phase", `so"lve`)
			b.readyToStop(id)
			if _, err := b.client.CancelJob(context.Background(), id); err != nil {
				t.Fatal(err)
			}
			if j := b.end(id); j.State != core.Cancelled || !strings.HasSuffix(b.output(id, 1), "ready\nstop seen\n") {
				t.Errorf("it ended %s after %q", j.State, b.output(id, 1))
			}
		})
	}
}

// readyToStop waits until the program ignores signals.
func (b *bed) readyToStop(id string) {
	b.Helper()
	b.until(id, func(*api.Job) bool { return strings.Contains(b.output(id, 1), "ready\n") })
}

// untilNoted waits until explain shows something of a kind.
func (b *bed) untilNoted(id, kind, choice string) {
	b.Helper()
	b.until(id, func(*api.Job) bool {
		list, err := b.client.ExplainJob(context.Background(), id)
		if err != nil {
			b.Fatal(err)
		}
		return slices.ContainsFunc(list, func(d api.Decision) bool { return d.Kind == kind && d.Choice == choice })
	})
}

func TestAScriptReportsWithTell(t *testing.T) {
	b, seen := up(t, twoClusters), filepath.Join(t.TempDir(), "seen")
	spec := job("/bin/sh", "-c", `set -e
		"$0" tell progress 3/8
		"$0" tell phase solve
		"$0" tell message half done
		"$0" tell progress 12/8 && exit 9
		"$0" tell message -o json again
		until [ -e "$1" ]; do sleep 0.01; done`, binary, seen)
	spec.Checkpoint.Method = "restart"
	id := b.submit(spec)
	b.until(id, func(j *api.Job) bool { return j.Progress != nil && *j.Progress == 3.0/8 })
	if err := os.WriteFile(seen, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if j := b.end(id); j.State != core.Done {
		t.Errorf("it ended %s: %s", j.State, b.output(id, 2))
	}
	b.untilNoted(id, "message", "half done")
	b.untilNoted(id, "phase", "solve")
	if out := b.output(id, 1); !strings.Contains(out, `"told": true`) {
		t.Errorf("it says %q", out)
	}
}
