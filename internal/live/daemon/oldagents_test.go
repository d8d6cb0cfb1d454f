//go:build soak

package daemon_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// earlierBuilds are commits whose agents this broker has to understand; GODWIT_EARLIER names others. The first is the
// last one whose agents told no version of the protocol, the second the last one without helpers on further hosts.
const earlierBuilds = "5e05d5a505aac8b0618e91c901c42514f91fb1dc 025c3e4347defcd69331211875a00789b385454b"

// buildEarlier builds the program as it was at a commit, from the history of this repository.
func buildEarlier(t *testing.T, commit string) string {
	t.Helper()
	const top = "../../.."
	if out, err := exec.Command("git", "-C", top, "cat-file", "-e", commit+"^{commit}").CombinedOutput(); err != nil {
		t.Fatalf("the history of this clone has no commit %s, which this test builds: clone the repository whole "+
			"(git fetch --unshallow). %v %s", commit, err, out)
	}
	dir := t.TempDir()
	archive := filepath.Join(dir, "source.tar")
	tree, program := filepath.Join(dir, "tree"), filepath.Join(dir, "godwit")
	if err := os.Mkdir(tree, 0o700); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-o", program, "./cmd/godwit")
	build.Dir, build.Env = tree, append(os.Environ(), "CGO_ENABLED=0")
	for _, cmd := range []*exec.Cmd{exec.Command("git", "-C", top, "archive", "-o", archive, commit),
		exec.Command("tar", "-xf", archive, "-C", tree), build} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	}
	sandbox, err := filepath.EvalSymlinks(filepath.Join(filepath.Dir(binary), "godwit-sandbox"))
	if err == nil {
		err = os.Symlink(sandbox, filepath.Join(dir, "godwit-sandbox"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// earlierBroker is one of an earlier build, in a process of its own.
type earlierBroker struct {
	*bed
	program string
	cmd     *exec.Cmd
	log     bytes.Buffer
}

func startEarlier(t *testing.T, program string) *earlierBroker {
	t.Helper()
	e := &earlierBroker{bed: &bed{TB: t, dir: t.TempDir()}, program: program}
	if err := os.WriteFile(filepath.Join(e.dir, "config.yaml"), []byte(recordedSettings), 0o600); err != nil {
		t.Fatal(err)
	}
	e.cmd = exec.Command(program, "up", "--config", filepath.Join(e.dir, "config.yaml"))
	e.cmd.Env = append(os.Environ(), "GODWIT_STATE="+filepath.Join(e.dir, "state"))
	e.cmd.Stdout, e.cmd.Stderr = &e.log, &e.log
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.kill)
	clocktest.WaitFor(t, "the earlier broker", func() bool { _, err := e.run("ps"); return err == nil },
		func() string { return filepath.Join(e.dir, "state") })
	return e
}

func (e *earlierBroker) kill() {
	_ = e.cmd.Process.Kill()
	_ = e.cmd.Wait()
}

// run runs a command of the earlier build.
func (e *earlierBroker) run(args ...string) (string, error) {
	cmd := exec.Command(e.program, args...)
	cmd.Dir = e.dir
	cmd.Env = append(os.Environ(), "GODWIT_STATE="+filepath.Join(e.dir, "state"),
		"GODWIT_CONFIG="+filepath.Join(e.dir, "config.yaml"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// submitWaiting submits a job that has begun when this returns, and ends when there is a file.
func (e *earlierBroker) submitWaiting(end string) string {
	e.Helper()
	file := filepath.Join(e.dir, "job.yaml")
	text := fmt.Sprintf("name: waits\nrun: echo begun; until [ -e %s ]; do sleep 0.05; done; echo ended\ncheckpoint: restart\n", end)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		e.Fatal(err)
	}
	out, err := e.run("submit", file)
	id := regexp.MustCompile(`\d+`).FindString(out)
	if err != nil || id == "" {
		e.Fatalf("submit: %v: %s", err, out)
	}
	clocktest.WaitFor(e, "the job to begin", func() bool {
		out, err := e.run("logs", id)
		return err == nil && strings.Contains(out, "begun")
	})
	return id
}

// Agents outlive the broker that started them: what an agent of an earlier build runs ends well under this broker, and
// can be cancelled by it.
func TestAgentsOfEarlierBuildsRunOnUnderThisBroker(t *testing.T) {
	commits := os.Getenv("GODWIT_EARLIER")
	if commits == "" {
		commits = earlierBuilds
	}
	for commit := range strings.FieldsSeq(commits) {
		t.Run(commit[:min(8, len(commit))], func(t *testing.T) {
			e := startEarlier(t, buildEarlier(t, commit))
			end := filepath.Join(e.dir, "end")
			ends, cancelled := e.submitWaiting(end), e.submitWaiting(end+"-never")
			e.kill()
			b := e.bed
			b.start()
			t.Cleanup(b.down)
			for _, id := range []string{ends, cancelled} {
				if j := b.until(id, running); j.Attempts != 1 {
					t.Fatalf("job %s runs in attempt %d", id, j.Attempts)
				}
			}
			if _, err := b.client.CancelJob(t.Context(), cancelled); err != nil {
				t.Fatal(err)
			}
			if j := b.end(cancelled); j.State != core.Cancelled || j.Attempts != 1 {
				t.Errorf("the job that was cancelled is %s after %d attempts: %s", j.State, j.Attempts, j.Why)
			}
			if err := os.WriteFile(end, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if j := b.end(ends); j.State != core.Done || j.Attempts != 1 || b.output(ends, 1) != "begun\nended\n" {
				t.Errorf("the job is %s after %d attempts (%s) and wrote %q", j.State, j.Attempts, j.Why, b.output(ends, 1))
			}
			for _, id := range []string{ends, cancelled} {
				b.nothingLeft(id)
			}
			runsAnother(b)
		})
	}
}

// runsAnother has the broker run one more job, by an agent of its own.
func runsAnother(b *bed) {
	if j := b.end(b.submit(job("true"))); j.State != core.Done {
		b.Errorf("the next job is %s: %s", j.State, j.Why)
	}
}
