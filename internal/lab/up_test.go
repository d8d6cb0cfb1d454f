package lab

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/lab/place/placetest"
)

const small = `
users: [alice, bob]
network: {wan: {mbps: 100, ms: 5}}
clusters:
  - {name: north, hosts: 2, cpus: 0.25, mbps: 400}
  - {name: south, hosts: 1, cpus: 0.2, mbps: 200}
`

func TestHostsHaveNamesAddressesUsersAndASharedFolder(t *testing.T) {
	l := bed(t, small)
	for h := range l.eachHost {
		if got := strings.TrimSpace(output(t, h, "hostname")); got != h.Name {
			t.Errorf("the name of %s is %q", h.Name, got)
		}
		if got := output(t, h, "getent", "hosts", "south1"); !strings.HasPrefix(got, "10.77.2.1 ") {
			t.Errorf("on %s south1 is %q", h.Name, got)
		}
	}
	n1, s1 := host(t, l, "north1"), host(t, l, "south1")
	ctx := context.Background()
	if out, err := n1.CommandAs(ctx, "alice", "sh", "-c",
		`whoami; pwd; id -u; touch /tmp/private; echo hello > shared; echo $HOME`).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	} else if home := l.Users[0].Home; string(out) != fmt.Sprintf("alice\n%s\n%d\n%s\n", home, l.Users[0].ID, home) {
		t.Errorf("as alice: %q", out)
	}
	if out, err := n1.CommandAs(ctx, "alice", "id", "-G").CombinedOutput(); err != nil ||
		string(out) != fmt.Sprintln(l.Users[0].ID) {
		t.Errorf("alice is in the groups %s, %v", out, err)
	}
	if out, err := s1.CommandAs(ctx, "alice", "cat", "shared").CombinedOutput(); err != nil || string(out) != "hello\n" {
		t.Errorf("the home folder is not shared: %v: %s", err, out)
	}
	if out, err := s1.CommandAs(ctx, "bob", "cat", l.Users[0].Home+"/shared").CombinedOutput(); err == nil {
		t.Errorf("bob reads what is alice's: %s", out)
	}
	if out := output(t, s1, "ls", "/tmp"); strings.Contains(out, "private") {
		t.Errorf("/tmp of one host is seen on another: %s", out)
	}
	if out := output(t, n1, "ps", "-e", "-o", "pid,comm"); strings.Count(out, "\n") != 3 {
		t.Errorf("processes on a host that has just been made: %s", out)
	}
}

func TestAMachineMayHaveAccountsWithTheNamesOfUsers(t *testing.T) {
	placetest.RunWithAccounts(t, "^TestHostsHaveNamesAddressesUsersAndASharedFolder$", "alice", "bob")
}
