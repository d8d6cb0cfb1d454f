package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/cli/term"
)

// call runs a command as a user would.
func call(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = RunCommand("v0", args, strings.NewReader(""), &out, &err)
	return code, out.String(), err.String()
}

const smallScenario = `
platform: {clusters: [{name: a, hosts: 16}]}
workload:
  jobs: 10
  every: 60s
  apps:
    - {name: x, min: 2, max: 12, work: 30m, speedup: "amdahl:0.05"}
`

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheFieldsThatOthersReadAreThere(t *testing.T) {
	scenario := file(t, "s.yaml", smallScenario)
	code, out, msg := call("sim", "--scenario", scenario, "-o", "json")
	if code != term.ExitDone || msg != "" {
		t.Fatalf("exit code %d: %s", code, msg)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields(`jobs completed makespan_s mean_response_s mean_wait_s mean_bounded_slowdown
		utilization mean_size max_size_mean grow_ops shrink_ops events wall_s`) {
		if _, ok := got[field].(float64); !ok {
			t.Errorf("%s is %v, want a number", field, got[field])
		}
	}
	code, out, _ = call("sim", "--scenario", scenario, "--compare", "egs,marginal", "-o", "json")
	var list []map[string]any
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != term.ExitDone {
		t.Fatal(code, err)
	}
	if len(list) != 2 || list[0]["malleable"] != "egs" || list[1]["malleable"] != "marginal" {
		t.Errorf("got %v", list)
	}
}

func TestAnInterruptedRunLeavesNoFiles(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	var out, msg bytes.Buffer
	a := newApp("v0", strings.NewReader(""), &out, &msg)
	root := a.rootCommand()
	root.SetArgs([]string{"sim", "--scenario", file(t, "s.yaml", smallScenario), "--jobs-out",
		filepath.Join(dir, "jobs.csv"),
		"--log", filepath.Join(dir, "run.jsonl")})
	if code := a.ReportError(root.ExecuteContext(ctx)); code != term.ExitInterrupted {
		t.Errorf("exit code %d, want %d", code, term.ExitInterrupted)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if out.Len() > 0 || msg.String() != "godwit: interrupted\n" {
		t.Errorf("printed %q and %q", out.String(), msg.String())
	}
}

func TestAMessageIsOneLine(t *testing.T) {
	for _, args := range [][]string{
		{"nothing"}, {"sim"}, {"sim", "--trace", "a\nb", "--platform", "c\r\nd"}, {"sim", "--place", "x\ny"},
		{"sim", "--no\nflag"}, {"experiment", "x"}, {"completion"}, {"sim", "--scenario", "\x00"},
	} {
		code, out, msg := call(args...)
		if code != term.ExitBadInput || out != "" || strings.Count(msg, "\n") != 1 || !strings.HasPrefix(msg, "godwit: ") {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", args, code, out, msg)
		}
	}
}
