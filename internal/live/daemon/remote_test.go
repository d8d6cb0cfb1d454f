package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver/remote/sshdtest"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// nearAndFar is the settings of a cluster on this machine and of one that is
// reached by SSH.
func nearAndFar(t testing.TB, s *sshdtest.Server, more string) string {
	t.Helper()
	options, err := json.Marshal(s.ClientOptions())
	if err != nil {
		t.Fatal(err)
	}
	// Our binaries are brought once for all tests: that takes a while.
	bin := filepath.Join(filepath.Dir(binary), "bin")
	if err := errors.Join(os.MkdirAll(bin, 0o700), os.Mkdir(filepath.Join(s.Dir, "far"), 0o700),
		os.Symlink(bin, filepath.Join(s.Dir, "far", "bin"))); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`
clusters:
  - {name: near, cpus: [0], slots: 4}
  - {name: far, ssh: %s, ssh_options: %s, dir: %q%s}
intervals: {sample: 200ms}
`, s.Host(), options, filepath.Join(s.Dir, "far"), more)
}

// farLog is what the program of a job has written at the other end.
func farLog(t testing.TB, s *sshdtest.Server, id string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Dir, "far", "*", "attempts", id+".*", "work", "log"))
	if err != nil || len(files) != 1 {
		return ""
	}
	text, _ := os.ReadFile(files[0])
	return string(text)
}

func TestAJobMovesToAnotherMachineAndBack(t *testing.T) {
	s := sshdtest.Start(t)
	b := up(t, nearAndFar(t, s, "")).reached()
	b.far = filepath.Join(s.Dir, "far")
	const steps = 120
	spec := slowJob(steps)
	spec.Workdir, spec.On = t.TempDir(), []string{"near", "far"}
	if err := os.WriteFile(filepath.Join(spec.Workdir, "input"), []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	large(t, filepath.Join(s.Home, "extra"), 1, 1<<20) // it goes along, and does not come home
	spec.Far = []jobfile.FarInput{{From: "far:extra", As: "extra"}}
	id := b.submit(spec)
	for _, to := range []string{"far", "near", "far"} {
		at := b.until(id, running).Cluster
		if at == to {
			continue
		}
		b.further(id, steps)
		done, err := b.client.MigrateJob(context.Background(), id, to)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(done.Text)
		b.until(id, func(j *api.Job) bool { return j.State == core.Running && j.Cluster == to })
	}
	if j := b.endsRight(id, steps); j.Migrations < 2 || j.Cluster != "far" {
		t.Errorf("it was moved %d times and ended in %s", j.Migrations, j.Cluster)
	}
	for name, want := range map[string]string{"input": "data", "log": wantSlow(steps)} {
		if got, err := os.ReadFile(filepath.Join(spec.Workdir, name)); err != nil || string(got) != want {
			t.Errorf("%s has %d bytes, want %d: %v", name, len(got), len(want), err)
		}
	}
	if _, err := os.Stat(filepath.Join(spec.Workdir, "extra")); err == nil {
		t.Error("an input that was not changed came home")
	}
	b.nothingFar(s, id)
}

// nothingFar waits until nothing of a job is left at the other end.
func (b *bed) nothingFar(s *sshdtest.Server, id string) {
	b.Helper()
	b.untilNone(filepath.Join(s.Dir, "far", "*", "attempts", id+".*"))
}

// untilNone waits until there is no file of that pattern.
func (b *bed) untilNone(pattern string) {
	b.Helper()
	var left []string
	clocktest.WaitFor(b, "the end of all "+pattern, func() bool {
		var err error
		if left, err = filepath.Glob(pattern); err != nil {
			b.Fatal(err)
		}
		return len(left) == 0
	}, func() string { return fmt.Sprintf("%v are left", left) })
}

func TestWhatAJobWritesWhileItsClusterIsOutOfReachIsNotLost(t *testing.T) {
	s := sshdtest.Start(t)
	b := up(t, nearAndFar(t, s, ", slots: 4")).reached()
	b.far = filepath.Join(s.Dir, "far")
	const steps = 100
	spec := slowJob(steps)
	spec.Workdir, spec.On = t.TempDir(), []string{"far"}
	id := b.submit(spec)
	b.shows(id, "step 10 ")
	s.SetDown(true)
	at := strings.Count(farLog(t, s, id), "\n")
	clocktest.WaitFor(t, "all steps but the last", func() bool { return strings.Count(farLog(t, s, id), "\n") >= steps-1 },
		func() string { return farLog(t, s, id) })
	if got := strings.Count(b.output(id, 1), "\n"); got > at+1 { // a line is printed before it is in the file
		t.Errorf("%d lines came, of which %d were written before nobody could bring them", got, at)
	}
	// A newcomer goes elsewhere at once.
	other := job("echo", "here")
	if j := b.end(b.submit(other)); j.State != core.Done || j.Cluster != "near" {
		t.Errorf("it is %s in %q: %s", j.State, j.Cluster, j.Why)
	}
	s.SetDown(false)
	b.endsRight(id, steps)
	b.nothingFar(s, id)
}

// sshConfig is a file with which ssh reaches each of some servers as h0, h1 and so on.
func sshConfig(t testing.TB, servers []*sshdtest.Server) string {
	t.Helper()
	var text strings.Builder
	for i, s := range servers {
		fmt.Fprintf(&text, "Host h%d\n HostName %s\n", i, s.Host())
		options := s.ClientOptions()[2:] // without the file
		for k := 0; k < len(options); k += 2 {
			switch options[k] {
			case "-p":
				fmt.Fprintf(&text, " Port %s\n", options[k+1])
			case "-i":
				fmt.Fprintf(&text, " IdentityFile %s\n", options[k+1])
			case "-o":
				fmt.Fprintf(&text, " %s\n", options[k+1])
			}
		}
	}
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Of a cluster of several machines one is out of reach: jobs run on the others, and on it again when it is back.
func TestAHostOutOfReachKeepsNobodyFromTheOthers(t *testing.T) {
	servers := []*sshdtest.Server{sshdtest.Start(t), sshdtest.Start(t)}
	bin := filepath.Join(filepath.Dir(binary), "bin") // our binaries are brought once for all tests
	for _, s := range servers {
		if err := errors.Join(os.MkdirAll(bin, 0o700), os.Mkdir(filepath.Join(s.Home, "far"), 0o700),
			os.Symlink(bin, filepath.Join(s.Home, "far", "bin"))); err != nil {
			t.Fatal(err)
		}
	}
	b := up(t, fmt.Sprintf("clusters:\n  - {name: far, ssh: [h0, h1], ssh_options: [-F, %s], dir: far, slots: 1}\n"+
		"intervals: {sample: 200ms, retry: 1s}\n", sshConfig(t, servers))).reached()
	where := func(id string) string {
		if j := b.end(id); j.State != core.Done {
			t.Fatalf("job %s is %s: %s", id, j.State, j.Why)
		}
		return strings.TrimSpace(b.output(id, 1))
	}
	line := job("sh", "-c", "sleep 1; pwd -P")
	servers[0].SetDown(true)
	for range 2 {
		if at := where(b.submit(line)); !strings.HasPrefix(at, servers[1].Home) {
			t.Errorf("it ran in %s, not below %s", at, servers[1].Home)
		}
	}
	hosts, err := b.client.ListHosts(context.Background(), "far")
	if err != nil || len(hosts) != 2 || hosts[0].State == hosts[1].State {
		t.Errorf("%+v, %v", hosts, err)
	}
	servers[0].SetDown(false)
	both := func() bool {
		ids := []string{b.submit(line), b.submit(line)}
		return strings.HasPrefix(where(ids[0]), servers[0].Home) != strings.HasPrefix(where(ids[1]), servers[0].Home)
	}
	clocktest.WaitFor(t, "two jobs to run on two hosts", both)
}

// farBroker is a broker in a process of its own, which can be killed.
func farBroker(b *bed) (kill func()) {
	b.Helper()
	cmd := exec.Command(binary, "up", "--config", filepath.Join(b.dir, "config.yaml"))
	cmd.Env = append(os.Environ(), "GODWIT_STATE="+filepath.Join(b.dir, "state"))
	log, err := os.OpenFile(filepath.Join(b.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	_ = log.Close()
	dead := false
	kill = func() {
		if !dead {
			dead = true
			_ = cmd.Process.Signal(syscall.SIGKILL)
			_ = cmd.Wait()
			b.client.Close()
		}
	}
	b.Cleanup(kill)
	b.client = api.DialBroker(api.SocketPath(filepath.Join(b.dir, "state")))
	b.untilAnswers(func() string {
		text, _ := os.ReadFile(filepath.Join(b.dir, "log"))
		return string(text)
	})
	return kill
}

func TestABrokerThatIsKilledFindsItsJobsOnOtherMachinesAgain(t *testing.T) {
	s := sshdtest.Start(t)
	b := &bed{TB: t, dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(b.dir, "config.yaml"), []byte(nearAndFar(t, s, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	b.far = filepath.Join(s.Dir, "far")
	kill := farBroker(b)
	const steps = 120
	spec := slowJob(steps)
	spec.Workdir, spec.On = t.TempDir(), []string{"far"}
	id := b.submit(spec)
	for n := range 3 {
		b.shows(id, fmt.Sprintf("step %d ", 10+30*n))
		kill()
		kill = farBroker(b)
	}
	b.endsRight(id, steps)
	b.nothingFar(s, id)
}

// What comes from other machines may speak for agents and for nobody else.
func TestAgentsCannotRuleTheBroker(t *testing.T) {
	b := up(t, oneCluster)
	socket := filepath.Join(filepath.Dir(api.SocketPath(filepath.Join(b.dir, "state"))), "agents.sock")
	c := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}}
	defer c.CloseIdleConnections()
	for path, want := range map[string]int{"/v1/jobs": http.StatusForbidden, "/v1/ping": http.StatusForbidden,
		"/v1/shutdown": http.StatusForbidden, "/v1/depot/../jobs": http.StatusForbidden,
		"/v1/agent": http.StatusUpgradeRequired} {
		answer, err := c.Post("http://broker"+path, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s is answered %s %s", path, answer.Status, text)
		}
	}
}
