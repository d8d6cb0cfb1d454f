package daemon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver/local"
	"github.com/godwit-hpc/godwit/internal/host/cgroup"
)

const limitedCluster = `
clusters:
  - {name: a, cpus: [0], slots: 1, speed: 1, memory: 200M, quota: 0.5}
intervals: {sample: 200ms}
`

// greedy is a program that has more memory than the cluster gives, in several processes.
// With an argument it lifts the limits of its own cgroup first, as far as it may.
const greedy = `import os, signal, sys, time
def lift(path):
    for file in ["memory.memsw.limit_in_bytes", "memory.limit_in_bytes", "memory.max"]:
        try: open(path + "/" + file, "w").write("1000000000")
        except OSError: pass
if len(sys.argv) > 1:
    for line in open("/proc/self/cgroup"):
        _, which, path = line.strip().split(":", 2)
        for base in ["/sys/fs/cgroup/" + which, "/sys/fs/cgroup/unified", "/sys/fs/cgroup"]:
            lift(base + path)
            lift(base + path + "/..")
children = []
for i in range(4):
    pid = os.fork()
    if pid == 0:
        keep = bytearray(100 << 20)
        time.sleep(60)
        os._exit(0)
    children.append(pid)
dead, status = os.wait()
for pid in children:
    if pid != dead: os.kill(pid, signal.SIGKILL)
print("killed" if status == signal.SIGKILL else "ended with %d" % status)
sys.exit(7)
`

func TestLimitsOfTheSettingsHoldForUsers(t *testing.T) {
	can := cgroup.ProbeAbility()
	cpus, err := local.UsableCPUs()
	if err != nil || !can.Memory || !can.CPUs || !can.CPU {
		t.Skip("needs cgroups: ", can.Why, err)
	}
	b := upShared(t, limitedCluster)
	b.must(os.WriteFile(filepath.Join(b.home(bob), "greedy.py"), []byte(greedy), 0o644))
	for _, argument := range []string{"", " lift"} {
		id := b.submit(bob, "run: python3 "+filepath.Join(b.home(bob), "greedy.py")+argument+
			"\ncheckpoint: {method: restart}\n")
		_, _ = b.as(bob, "wait", id) // its code is that of the job
		if s, out := b.show(bob, id), b.ok(bob, "logs", id); out != "killed\n" || !strings.Contains(s.Why, "memory") {
			t.Errorf("400 MB of 200%s: it is %s (%s) and wrote %q", argument, s.State, s.Why, out)
		}
	}
	if len(cpus) > 1 {
		id := b.submit(bob, "run: python3 -c 'import os; os.sched_setaffinity(0, {0, 1}); "+
			"print(os.sched_getaffinity(0))'\ncheckpoint: {method: restart}\n")
		_, _ = b.as(bob, "wait", id)
		if out := b.ok(bob, "logs", id); strings.Contains(out, "1") {
			t.Errorf("it runs on %s", out)
		}
	}
	id := b.submit(bob, "run: cat /proc/self/cgroup\ncheckpoint: {method: restart}\n")
	b.ok(bob, "wait", id)
	for line := range strings.Lines(b.ok(bob, "logs", id)) {
		for _, c := range []string{":cpu:", ":memory:", ":cpuset:", "::"} {
			if strings.Contains(line, c) && !strings.Contains(line, "/godwit-user-") {
				t.Errorf("it runs in %s", line)
			}
		}
	}
	if out := b.ok(bob, "clusters"); strings.Contains(out, "limits") {
		t.Errorf("the cluster says %s", out)
	}
}

// Where cgroups cannot be had everybody is told.
func TestLimitsThatDoNotHoldForUsersAreTold(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if out, err := exec.Command("unshare", "--mount", "true").CombinedOutput(); err != nil {
		t.Skipf("needs mount namespaces: %v: %s", err, out)
	}
	// /sys without cgroups.
	b := upSharedIn(t, limitedCluster, "unshare", "--mount", "--propagation", "private", "--", "sh", "-ec",
		`umount -R /sys/fs/cgroup 2>/dev/null || mount -t tmpfs none /sys/fs/cgroup; exec "$@"`, "sh")
	id := b.submit(bob, "run: echo hello\ncheckpoint: {method: restart}\n")
	b.ok(bob, "wait", id)
	for _, args := range [][]string{{"clusters"}, {"explain", id}} {
		out := strings.Join(strings.Fields(b.ok(bob, args...)), " ")
		if !strings.Contains(out, "limits of the settings that do not hold for jobs of users: cpus, quota, memory") {
			t.Errorf("%s says %s", args[0], out)
		}
	}
	if out, _ := b.as(bob, "doctor"); !strings.Contains(strings.Join(strings.Fields(out), " "),
		"do not hold for jobs of users: cpus, quota, memory") {
		t.Errorf("doctor says %s", out)
	}
}
