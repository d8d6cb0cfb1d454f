package accounts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// machine is a folder like /etc of a machine that has an alice of its own.
func machine(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"passwd":           "root:x:0:0:root:/root:/bin/bash\nalice:x:1000:1000:Alice:/home/alice:/bin/bash\ncarol:x:20001:20003::/home/carol:/bin/sh\n",
		"group":            "root:x:0:\nsudo:x:27:carol,alice\nalice:x:1000:carol\nstaff:x:20002:alice\n",
		"shadow":           "root:*:1:0:9:7:::\nalice:!:1:0:9:7:::",
		"gshadow":          "sudo:*:alice:carol,alice\n",
		"subuid":           "alice:100000:65536\ncarol:165536:65536\n",
		"nsswitch.conf":    "# who\npasswd:   sss files\ngroup: sss files\nhosts: files dns\n",
		"sudoers":          "alice ALL=(ALL) NOPASSWD: ALL\n",
		"sudoers.d/others": "carol ALL=(ALL) ALL\n",
	} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAnAccountOfTheMachineWithTheNameOfAUserIsNotOnTheHosts(t *testing.T) {
	etc := machine(t)
	ids, err := FreeIDs(etc, 2)
	if err != nil || !slices.Equal(ids, []int{20004, 20005}) {
		t.Fatalf("free are %v, %v", ids, err)
	}
	if err := Write(etc, etc, []User{{"alice", 20004, "/lab/alice"}, {"bob", 20005, "/lab/bob"}}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"passwd": "root:x:0:0:root:/root:/bin/bash\ncarol:x:20001:20003::/home/carol:/bin/sh\n" +
			"alice:x:20004:20004:alice:/lab/alice:/bin/sh\nbob:x:20005:20005:bob:/lab/bob:/bin/sh\n",
		"group":         "root:x:0:\nsudo:x:27:carol\nstaff:x:20002:\nalice:x:20004:\nbob:x:20005:\n",
		"shadow":        "root:*:1:0:9:7:::\nalice:*:19000:0:99999:7:::\nbob:*:19000:0:99999:7:::\n",
		"gshadow":       "sudo:*::carol\nalice:*::\nbob:*::\n",
		"subuid":        "carol:165536:65536\n",
		"nsswitch.conf": "# who\npasswd: files\ngroup: files\nhosts: files dns\n",
	} {
		if text, err := os.ReadFile(filepath.Join(etc, name)); err != nil || string(text) != want {
			t.Errorf("%s is\n%s%v, want\n%s", name, text, err, want)
		}
	}
	for _, name := range []string{"sudoers", "sudoers.d", "subgid"} {
		if _, err := os.Stat(filepath.Join(etc, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
}

func TestWithoutSuchAnAccountAdministratorsStay(t *testing.T) {
	etc := machine(t)
	if err := Write(etc, etc, []User{{"bob", 20004, "/lab/bob"}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sudoers", "sudoers.d/others"} {
		if _, err := os.Stat(filepath.Join(etc, name)); err != nil {
			t.Error(err)
		}
	}
}
