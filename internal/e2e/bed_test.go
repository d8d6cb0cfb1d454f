package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint/sandbox/sandboxtest"
	"github.com/godwit-hpc/godwit/internal/lab"
	"github.com/godwit-hpc/godwit/internal/lab/managers"
)

// root is the folder of the repository.
const root = "../.."

func TestMain(m *testing.M) {
	if code, ours := lab.RunRole(os.Args[1:]); ours {
		os.Exit(code)
	}
	managers.RegisterAll()
	os.Exit(m.Run())
}

// bed is a lab with a broker, used through the command line.
type bed struct {
	t    *testing.T
	bin  string // godwit
	work string // folder from which jobs are submitted
	user string // of the lab, as whom a broker of all is used; "": the broker is ours
	env  []string
	lab  *lab.Lab
	cut  *cut
}

// patience is how long anything may take on a slow machine that others use too.
const patience = 4 * time.Minute

// up makes the lab of a plan.
func up(t *testing.T, plan string, flags ...string) *bed {
	t.Helper()
	dir, err := os.MkdirTemp("", "gw-e2e-") // short: sockets are in it; and others may look into it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, bin: filepath.Join(dir, "godwit"), work: filepath.Join(dir, "work"), cut: new(cut)}
	b.build()
	labs := filepath.Join(dir, "labs")
	b.env = append(os.Environ(), "GODWIT_STATE="+filepath.Join(dir, "state"), "GODWIT_LABS="+labs, "GODWIT_CONFIG=")
	if len(flags) > 0 {
		b.env = append(b.env, "GODWIT_SOCKET="+b.socket())
	}
	t.Setenv("GODWIT_LABS", labs)
	if err := os.MkdirAll(b.work, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "plan.yaml")
	if err := os.WriteFile(file, []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			b.complain()
		}
		if out, err := b.try("lab", "down", "--all"); err != nil {
			t.Errorf("lab down: %v\n%s", err, out)
		}
	})
	b.godwit(append(append([]string{"lab", "up"}, flags...), file)...)
	names, err := lab.ListLabs()
	if err != nil || len(names) != 1 {
		t.Fatalf("labs: %v, %v", names, err)
	}
	if b.lab, err = lab.Open(names[0]); err != nil {
		t.Fatal(err)
	}
	return b
}

// build makes the binaries as make does, without the name of a version.
func (b *bed) build() {
	b.t.Helper()
	cmd := exec.Command("go", "build", "-o", b.bin, "./cmd/godwit")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("go build: %v\n%s", err, out)
	}
	built, err := sandboxtest.BuiltBinary()
	if err != nil {
		b.t.Fatal(err)
	}
	sandbox, err := os.ReadFile(built)
	if err != nil {
		b.t.Fatal(err)
	}
	// it is a program
	if err := os.WriteFile(filepath.Join(filepath.Dir(b.bin), "godwit-sandbox"), sandbox, 0o755); err != nil {
		b.t.Fatal(err)
	}
}

// try runs a command of godwit and returns what it printed.
func (b *bed) try(args ...string) (string, error) {
	if b.user != "" {
		return b.tryAs(args...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.bin, args...)
	cmd.Dir, cmd.Env = b.work, b.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(errs.String()))
	}
	return out.String(), err
}

func (b *bed) godwit(args ...string) string {
	b.t.Helper()
	out, err := b.try(args...)
	if err != nil {
		b.t.Fatalf("godwit %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// complain tells what the broker said.
func (b *bed) complain() {
	if b.lab != nil {
		text, _ := os.ReadFile(b.lab.Head.LogOf("broker"))
		b.t.Logf("the broker:\n%s", text[max(0, len(text)-8000):])
	}
	out, err := b.try("ps", "--all", "--all-users")
	if err != nil {
		out = err.Error()
	}
	b.t.Logf("jobs:\n%s", out[:min(len(out), 8000)])
}

// told is what a job wrote, complaints too.
func (b *bed) told(id string) string {
	cmd := exec.CommandContext(b.t.Context(), b.bin, "logs", id)
	cmd.Env = b.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		out = append(out, err.Error()...)
	}
	return string(out)
}

// file writes a file into the folder from which jobs are submitted.
func (b *bed) file(name, text string) string {
	b.t.Helper()
	path := filepath.Join(b.work, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { // nothing secret
		b.t.Fatal(err)
	}
	if b.user != "" {
		if err := os.Chown(path, b.number(), b.number()); err != nil {
			b.t.Fatal(err)
		}
	}
	return path
}

// submit submits a job file or script and returns the numbers of its jobs.
func (b *bed) submit(text string, args ...string) []string {
	b.t.Helper()
	name := fmt.Sprintf("job-%d.yaml", time.Now().UnixNano())
	if strings.HasPrefix(text, "#!") {
		name = strings.TrimSuffix(name, ".yaml") + ".sh"
	}
	text = b.godwit(append(append([]string{"submit", "-o", "json"}, args...), b.file(name, text))...)
	var submitted struct {
		IDs []int `json:"ids"`
	}
	if err := json.Unmarshal([]byte(text), &submitted); err != nil {
		b.t.Fatalf("%q: %v", text, err)
	}
	ids := make([]string, len(submitted.IDs))
	for i, id := range submitted.IDs {
		ids[i] = strconv.Itoa(id)
	}
	return ids
}

// shown is what show tells of a job.
type shown struct {
	ID         int      `json:"id"`
	State      string   `json:"state"`
	Cluster    string   `json:"cluster"`
	Hosts      []string `json:"hosts"`
	Code       *int     `json:"exit_code"`
	Migrations int      `json:"migrations"`
	Reason     string   `json:"reason"`

	Submitted, Started time.Time

	HostUsage []hostUsage `json:"host_usage"`
}

// hostUsage is what show tells of a job on one of its hosts.
type hostUsage struct {
	Host  string  `json:"host"`
	CPU   float64 `json:"cpu_s"`
	Ranks string  `json:"ranks"`
}

func (s shown) over() bool { return s.State == "DONE" || s.State == "FAILED" || s.State == "CANCELLED" }

func (b *bed) show(id string) shown {
	b.t.Helper()
	var s shown
	if err := json.Unmarshal([]byte(b.godwit("show", id, "-o", "json")), &s); err != nil {
		b.t.Fatal(err)
	}
	return s
}

// wait waits for the end of a job.
func (b *bed) wait(id string) shown {
	b.t.Helper()
	b.until("job "+id+" to end", func() bool { return b.show(id).over() })
	return b.show(id)
}

func (b *bed) until(what string, holds func() bool) {
	b.t.Helper()
	clocktest.PollLoop{Limit: patience, Pause: 200 * time.Millisecond}.WaitFor(b.t, what, holds)
}

// all is what ps tells of all jobs, by number.
func (b *bed) all() map[string]shown {
	b.t.Helper()
	var list []shown
	if err := json.Unmarshal([]byte(b.godwit("ps", "--all", "-o", "json")), &list); err != nil {
		b.t.Fatal(err)
	}
	jobs := map[string]shown{}
	for _, s := range list {
		jobs[fmt.Sprint(s.ID)] = s
	}
	return jobs
}

// on runs a shell command on a host of the lab as root.
func (b *bed) on(host, command string) string {
	b.t.Helper()
	h, err := b.lab.FindHost(host)
	if err != nil {
		b.t.Fatal(err)
	}
	out, err := h.Command(b.t.Context(), "/bin/sh", "-c", command).CombinedOutput()
	if err != nil {
		b.t.Fatalf("%s on %s: %v\n%s", command, host, err, out)
	}
	return string(out)
}

// do does something to the lab: load north1 2.
func (b *bed) do(words ...string) {
	b.t.Helper()
	l, err := lab.Open(b.lab.Name) // as it is now
	if err == nil {
		err = l.DoVerb(b.t.Context(), words)
	}
	if err != nil {
		b.t.Fatalf("%v: %v", words, err)
	}
}
