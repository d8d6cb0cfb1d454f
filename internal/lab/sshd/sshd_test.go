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
	config := sshd.Config{Dir: hosts.Dir + "/ssh", User: hosts.User.Name}
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
		out, err := hosts.Head.Command(t.Context(), "ssh", "-F", s.ClientConfig(), n.Name(),
			"id -un; hostname; pwd; echo $WHERE; cat >file; wc -c <file").CombinedOutput()
		want := "alice\n" + n.Name() + "\n" + hosts.User.Home + "\non " + n.Name() + "\n0\n"
		if err != nil || string(out) != want {
			t.Errorf("on %s: %v: %q, want %q", n.Name(), err, out, want)
		}
	}
	info, err := os.Stat(s.Identity())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the identity is %v: %v", info.Mode(), err)
	}
}

func TestOnlyTheIdentityOpens(t *testing.T) {
	hosts, s := start(t, 1)
	// Somebody who may read everything but the identity.
	out, err := hosts.Head.CommandAs(t.Context(), hosts.User, "ssh", "-F", s.ClientConfig(), "n1", "true").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "denied") {
		t.Errorf("without the identity: %v: %s", err, out)
	}
}

func TestAServerThatEndedIsStartedAgain(t *testing.T) {
	hosts, s := start(t, 2)
	true2 := func() error {
		return hosts.Head.Command(t.Context(), "ssh", "-F", s.ClientConfig(), "n2", "true").Run()
	}
	if _, err := hosts.Nodes[1].Command(t.Context(), "sh", "-c", "kill -9 $(cat "+hosts.Dir+"/ssh/n2.pid)").Output(); err != nil {
		t.Fatal(err)
	}
	for {
		down, err := s.Down(t.Context())
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
	if err := s.StartHost(t.Context(), "n2"); err != nil {
		t.Fatal(err)
	}
	if err := true2(); err != nil {
		t.Error(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if down, err := s.Down(t.Context()); err != nil || len(down) != 2 {
		t.Errorf("stopped, but down are %q: %v", down, err)
	}
}
