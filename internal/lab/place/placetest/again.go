package placetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/lab/accounts"
)

// secondRun is set in the processes of Again.
const secondRun = "GODWIT_TEST_ACCOUNTS"

// lookalikes is run in a mount namespace of its own: DIR COMMAND...
const lookalikes = `mount --make-rprivate /
for f in passwd group shadow; do mount --bind "$1/$f" "/etc/$f"; done
shift
exec "$@"`

// RunWithAccounts runs tests of the same package once more where the machine has accounts of
// these names: locked ones, with the numbers that users of labs would get first, with
// other home folders, and in a group of their own. Others on the machine do not see
// them.
func RunWithAccounts(t *testing.T, tests string, names ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("other files of accounts need a mount namespace, which needs root")
	}
	if os.Getenv(secondRun) != "" {
		t.Skip("this is the second time")
	}
	dir := t.TempDir()
	passwd, group, shadow := "", "godwit-test-admins:x:20999:"+strings.Join(names, ",")+"\n", ""
	for i, name := range names {
		id := accounts.FirstID + i
		passwd += fmt.Sprintf("%s:x:%d:%d:not of the lab:/nonexistent:/bin/false\n", name, id, id)
		group += fmt.Sprintf("%s:x:%d:\n", name, id)
		shadow += name + ":!:19000:0:99999:7:::\n"
	}
	for name, more := range map[string]string{"passwd": passwd, "group": group, "shadow": shadow} {
		text, err := os.ReadFile(filepath.Join("/etc", name))
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(more+string(text)), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("unshare", "--mount", "--", "sh", "-ec", lookalikes, "sh", dir,
		os.Args[0], "-test.run", tests, "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), secondRun+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: ") || strings.Contains(string(out), "--- SKIP: ") {
		t.Errorf("with accounts %v: %v\n%s", names, err, out)
	}
}
