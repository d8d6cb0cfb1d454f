package gridengine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/lab/gridengine/gridenginetest"
)

// until waits for something that takes its time.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1200 {
		if ok() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}

// run runs a command as the ordinary user.
func run(t *testing.T, c *gridenginetest.Cell, argv ...string) string {
	t.Helper()
	out, err := c.Command(argv...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestAnOrdinaryUsersJobOutlivesTheMaster(t *testing.T) {
	c := gridenginetest.Start(t, 2, 2)
	home := c.User.Home
	exists := func(name string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(home, name)); return err == nil }
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("job", `#!/bin/sh
id -un
sort $PE_HOSTFILE
touch begun
until [ -e go ]; do sleep 0.1; done
echo done
`)
	id := run(t, c, "qsub", "-terse", "-cwd", "-j", "y", "-o", "out", "-pe", "mpi", "4", "job")
	until(t, "the job", exists("begun"))
	c.RestartMaster()
	write("go", "")
	until(t, "its end", func() bool {
		out, err := c.Command("qacct", "-j", id).CombinedOutput()
		return err == nil && strings.Contains(string(out), "exit_status  0")
	})
	out, err := os.ReadFile(filepath.Join(home, "out"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"alice", "n1 2", "n2 2", "done"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the job wrote %q, without %q", out, want)
		}
	}
}
