package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Numbers of users that nobody has; a broker needs no name.
const ordinary, stranger = 23456, 23457

// ordinaryUser is a broker, started from the command line by a user who is not
// root, with everything in a folder of that user.
type ordinaryUser struct {
	*bed
	godwit string
	env    []string
	broker *exec.Cmd
	said   bytes.Buffer
}

func newOrdinaryUser(t *testing.T) *ordinaryUser {
	t.Helper()
	dir, err := os.MkdirTemp("", "godwit-user-")
	if err != nil {
		t.Fatal(err)
	}
	u := &ordinaryUser{bed: &bed{TB: t, dir: dir}, godwit: filepath.Join(dir, "bin", "godwit")}
	t.Cleanup(func() {
		u.end()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for _, sub := range []string{"bin", "state", "home", "work"} {
		u.must(os.Mkdir(filepath.Join(dir, sub), 0o755))
		u.must(os.Chown(filepath.Join(dir, sub), ordinary, ordinary))
	}
	u.must(os.Chmod(dir, 0o755))
	u.copy(binary, u.godwit)
	u.copy(filepath.Join(filepath.Dir(binary), "godwit-sandbox"), filepath.Join(dir, "bin", "godwit-sandbox"))
	settings := filepath.Join(dir, "config.yaml")
	// the user has to read it
	u.must(os.WriteFile(settings, []byte(strings.Replace(twoClusters, "cpus: [1]", "cpus: [1], quota: 0.9", 1)), 0o644))
	u.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "GODWIT_STATE=" +
		filepath.Join(dir, "state"), "LANG=C.UTF-8"}
	u.broker = u.as(ordinary, "up", "--config", settings)
	u.broker.Stdout, u.broker.Stderr = &u.said, &u.said
	u.must(u.broker.Start())
	u.client = api.DialBroker(filepath.Join(dir, "state", "broker.sock"))
	u.untilAnswers(func() string {
		u.must(u.broker.Process.Kill())
		_ = u.broker.Wait()
		return u.said.String()
	})
	return u
}

func (u *ordinaryUser) must(err error) {
	u.Helper()
	if err != nil {
		u.Fatal(err)
	}
}

func (u *ordinaryUser) copy(from, to string) {
	u.Helper()
	in, err := os.Open(from)
	u.must(err)
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755) // a program
	u.must(err)
	_, err = io.Copy(out, in)
	u.must(err)
	u.must(out.Close())
}

// as is a command of godwit, given by a user.
func (u *ordinaryUser) as(uid uint32, args ...string) *exec.Cmd {
	c := exec.Command(u.godwit, args...)
	c.Dir, c.Env = u.dir, u.env
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	return c
}

// end ends the broker as its user would.
func (u *ordinaryUser) end() {
	if u.broker == nil || u.broker.Process == nil || u.client == nil {
		return
	}
	u.client.Close()
	_ = u.broker.Process.Signal(syscall.SIGTERM) // it may have ended, which is told below
	if err := u.broker.Wait(); err != nil {
		u.Errorf("the broker ended with %v: %s", err, u.said.String())
	}
}

func TestAnOrdinaryUserHasAllOfIt(t *testing.T) {
	u := newOrdinaryUser(t)
	const steps = 100
	spec := slowJob(steps)
	spec.Env["HOME"] = filepath.Join(u.dir, "home")
	spec.Workdir = filepath.Join(u.dir, "work")
	id := u.submit(spec)
	u.shows(id, "step 5 ")
	for pid := range u.inside(id) {
		if info, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil && info.Sys().(*syscall.Stat_t).Uid == 0 &&
			began(pid) != "" {
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if !bytes.Contains(status, []byte(fmt.Sprintf("\nUid:\t%d\t", ordinary))) {
				t.Errorf("process %d of the job runs as root:\n%s", pid, status)
			}
		}
	}
	done, err := u.client.CheckpointJob(context.Background(), id)
	u.must(err)
	t.Log(done.Text)
	done, err = u.client.MigrateJob(context.Background(), id, "")
	u.must(err)
	t.Log(done.Text)
	if j := u.endsRight(id, steps); j.Migrations != 1 {
		t.Errorf("it was moved %d times", j.Migrations)
	}
	home, err := os.ReadFile(filepath.Join(spec.Workdir, "log"))
	if err != nil || string(home) != wantSlow(steps) {
		t.Errorf("its file has %d bytes, want %d: %v", len(home), len(wantSlow(steps)), err)
	}
	if info, err := os.Stat(filepath.Join(spec.Workdir, "log")); err != nil ||
		info.Sys().(*syscall.Stat_t).Uid != ordinary {
		t.Errorf("its file is not its user's: %v", err)
	}
	u.affinity(t)
	u.doctor(t)
	u.strangers(t)
}

// affinity: without cgroups a cluster is its processors all the same.
func (u *ordinaryUser) affinity(t *testing.T) {
	spec := job("grep", "Cpus_allowed_list", "/proc/self/status")
	spec.On = []string{"b"}
	id := u.submit(spec)
	if j := u.bed.end(id); j.State != core.Done {
		t.Errorf("it is %s: %s", j.State, j.Why)
	}
	if got := strings.Fields(u.output(id, 1)); len(got) != 2 || got[1] != "1" {
		t.Errorf("in cluster b, which is processor 1, a program may use %v", got)
	}
}

// doctor: it says what is missing and what is done instead.
func (u *ordinaryUser) doctor(t *testing.T) {
	out, err := u.as(ordinary, "doctor", "-o", "json").Output()
	if err != nil {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	var found []struct {
		Check, Detail, Fix string
		OK                 bool
	}
	u.must(json.Unmarshal(out, &found))
	for _, f := range found {
		switch f.Check {
		case "cgroups":
			if f.OK || !strings.Contains(f.Detail, "affinity") {
				t.Errorf("of cgroups it says %+v", f)
			}
		case "sandbox", "user namespaces", "broker":
			if !f.OK {
				t.Errorf("of %s it says %+v", f.Check, f)
			}
		}
	}
	if !slices.ContainsFunc(strings.Split(u.said.String(), "\n"),
		func(s string) bool { return strings.Contains(s, "the quota of 0.9 needs cgroups") }) {
		t.Errorf("the broker does not say that there are no cgroups: %s", u.said.String())
	}
}

// strangers: another user gets no answer, not even through an open door.
func (u *ordinaryUser) strangers(t *testing.T) {
	for _, open := range []bool{false, true} {
		state := filepath.Join(u.dir, "state")
		if open {
			u.must(os.Chmod(state, 0o755)) // that is the point
			u.must(os.Chmod(filepath.Join(state, "broker.sock"), 0o666))
		} else {
			u.must(os.Chmod(state, 0o700))
		}
		commands := [][]string{{"ps"}, {"up", "--stop"}}
		if open { // the broker does not answer, which may be because it ends: that is waited for
			commands = commands[:1]
		}
		for _, args := range commands {
			c := u.as(stranger, args...)
			var out, errs bytes.Buffer
			c.Stdout, c.Stderr = &out, &errs
			if err := c.Run(); err == nil || out.Len() > 0 || strings.Count(errs.String(), "\n") != 1 ||
				!open && !strings.Contains(errs.String(), "permission denied") {
				t.Errorf("a stranger (open: %v) is answered %q to %v: %q, %v", open, out.String(), args, errs.String(), err)
			} else {
				t.Logf("a stranger (open: %v) is told of %v: %s", open, args, errs.String())
			}
		}
	}
	if out, err := u.as(ordinary, "ps").CombinedOutput(); err != nil {
		t.Errorf("its user is told %v: %s", err, out)
	}
}
