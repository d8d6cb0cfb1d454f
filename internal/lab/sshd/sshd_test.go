package sshd_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/lab/place/placetest"
	"github.com/godwit-hpc/godwit/internal/lab/sshd"
)

// start starts a server on each node.
func start(t *testing.T, nodes int) (*placetest.Hosts, *sshd.Servers) {
	t.Helper()
	hosts := placetest.Start(t, nodes)
	config := sshd.Config{Dir: hosts.Dir + "/ssh", Users: []sshd.User{sshd.User(hosts.User)}}
	for _, n := range hosts.Nodes {
		config.Hosts = append(config.Hosts, sshd.Host{Place: n, Env: map[string]string{"WHERE": "on " + n.Name()}})
	}
	s := sshd.New(config)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return hosts, s
}

func TestAUserLogsInFromTheHead(t *testing.T) {
	hosts, s := start(t, 2)
	for _, n := range hosts.Nodes {
		out, err := hosts.Head.Command(t.Context(), "ssh", "-F", s.ClientConfig(), hosts.User.Name+"@"+n.Name(),
			"id -un; hostname; pwd; echo $WHERE; cat >file; wc -c <file").CombinedOutput()
		want := hosts.User.Name + "\n" + n.Name() + "\n" + hosts.User.Home + "\non " + n.Name() + "\n0\n"
		if err != nil || string(out) != want {
			t.Errorf("on %s: %v: %q, want %q", n.Name(), err, out, want)
		}
	}
	info, err := os.Stat(s.IdentityFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the identity is %v: %v", info.Mode(), err)
	}
}

func TestAUserWithTheNameOfALockedAccountOfTheMachineLogsIn(t *testing.T) {
	placetest.RunWithAccounts(t, "^TestAUserLogsInFromTheHead$", "alice")
}

func TestUsersGoFromHostToHostAsThemselvesOnly(t *testing.T) {
	hosts, s := start(t, 2)
	as := func(argv ...string) (string, error) {
		out, err := hosts.Nodes[0].CommandAs(t.Context(), hosts.User, argv...).CombinedOutput()
		return string(out), err
	}
	if out, err := as("ssh", "n2", "id -un; hostname"); err != nil || out != hosts.User.Name+"\nn2\n" {
		t.Errorf("from n1 to n2: %v: %s", err, out)
	}
	if out, err := as("ssh", "root@n2", "true"); err == nil || !strings.Contains(out, "denied") {
		t.Errorf("as root: %v: %s", err, out)
	}
	// All but the identity that opens all accounts may be read by everybody.
	if out, err := as("ssh", "-F", s.ClientConfig(), "n2", "true"); err == nil || !strings.Contains(out, "denied") {
		t.Errorf("without an identity: %v: %s", err, out)
	}
}

func TestAServerThatEndedIsStartedAgain(t *testing.T) {
	hosts, s := start(t, 2)
	true2 := func() error {
		return hosts.Head.Command(t.Context(), "ssh", "-F", s.ClientConfig(), hosts.User.Name+"@n2", "true").Run()
	}
	if _, err := hosts.Nodes[1].Command(t.Context(), "sh", "-c", "kill -9 $(cat "+hosts.Dir+
		"/ssh/n2.pid)").Output(); err != nil {
		t.Fatal(err)
	}
	for {
		down, err := s.ListDown(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if slices.Equal(down, []string{"sshd on n2"}) {
			break
		}
	}
	if true2() == nil {
		t.Fatal("a host without its server let somebody in")
	}
	if err := s.Start(t.Context(), "n2"); err != nil {
		t.Fatal(err)
	}
	if err := true2(); err != nil {
		t.Error(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if down, err := s.ListDown(t.Context()); err != nil || len(down) != 2 {
		t.Errorf("stopped, but down are %q: %v", down, err)
	}
}
