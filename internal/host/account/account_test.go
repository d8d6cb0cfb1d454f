package account

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAccountsOfThisMachine(t *testing.T) {
	var table Table
	root, err := table.AccountOf(0)
	if err != nil || root.Name != "root" || root.Home == "" || root.Shell == "" || len(root.Groups) == 0 {
		t.Errorf("root is %+v, %v", root, err)
	}
	if again, err := table.AccountOf(0); err != nil || again != root {
		t.Errorf("root is looked up again: %v", err)
	}
	if u, err := table.AccountOf(3999999999); err == nil {
		t.Errorf("there is %+v", u)
	}
	if u, err := fromFiles("0"); err != nil || u.Name != "root" || len(u.Groups) == 0 {
		t.Errorf("in the files root is %+v, %v", u, err)
	}
}

func TestWhatWasLookedUpIsBelievedForAWhile(t *testing.T) {
	now := time.Unix(1000, 0)
	table := Table{Clock: func() time.Time { return now }}
	first, err := table.AccountOf(0)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(entryMaxAge + time.Second)
	if later, err := table.AccountOf(0); err != nil || later == first {
		t.Errorf("it is believed for ever: %v", err)
	}
}

// A process of a user has nothing of ours: not our environment, our folder, our
// groups, nor what we have open.
func TestAProcessOfAUserIsTheirsAlone(t *testing.T) {
	t.Setenv("OURS", "secret")
	open, err := os.Open("/etc/shadow")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = open.Close() }()
	home := t.TempDir()
	for dir := home; dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	u := &User{ID: 20001, Group: 20001, Groups: []uint32{20001, 20005}, Name: "alice", Home: home, Shell: "/bin/sh"}
	cmd := exec.Command("/bin/sh", "-c", "id -u; id -g; id -G; pwd; env; ls -l /proc/self/fd; cat /etc/shadow")
	u.RunAs(cmd)
	out, _ := cmd.Output() // it cannot read the last one
	text := string(out)
	for _, want := range []string{"20001\n20001\n20001 20005\n" + home + "\n", "HOME=" + home, "USER=alice",
		"LOGNAME=alice"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for _, never := range []string{"OURS", "shadow", "root:"} {
		if strings.Contains(text, never) {
			t.Errorf("%q is in\n%s", never, text)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("root:x:0:0:root:/root:/bin/bash\n")
	f.Add("alice::20001:20001::/home/alice:")
	f.Add(":x:-1:99999999999:::")
	f.Fuzz(func(t *testing.T, line string) {
		u, err := parseLine(line)
		if err == nil && (u.Name == "" || !filepath.IsAbs(u.Home) || u.Shell == "") {
			t.Errorf("%q is %+v", line, u)
		}
	})
}
