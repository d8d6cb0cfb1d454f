package local

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/cgroup"
)

// survey is what a driver in this process thinks of the machine, again and again
// until nobody listens.
func survey(dir string) int {
	d, err := New(Options{Cluster: "bounded", Dir: dir, Sample: 200 * time.Millisecond})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for {
		l, err := d.MeasureLoad(context.Background())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if _, err := fmt.Println(d.opt.Slots, l.Share, l.Why); err != nil {
			return 0
		}
		time.Sleep(100 * time.Millisecond) // half a sample
	}
}

// inside starts a command in a cgroup.
func inside(t *testing.T, g *cgroup.Group, argv ...string) io.Reader {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"-c", `read go && exec "$@"`, "sh"}, argv...)...)
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	if err := g.AddProcess(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, "go\n"); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestUnderAQuotaNoMoreIsOfferedThanItGives(t *testing.T) {
	const quota = 0.4
	g, err := cgroup.CreateGroup(fmt.Sprintf("bounded-%d", os.Getpid()), cgroup.Limits{CPU: quota})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.RemoveGroup(); err != nil {
			t.Error(err)
		}
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(inside(t, g, self, "survey", t.TempDir()))
	until := func(what string, ok func(share float64) bool) {
		t.Helper()
		for begin := time.Now(); time.Since(begin) < 4*time.Minute; {
			var procs int
			var share float64
			if !lines.Scan() {
				t.Fatal("it has ended")
			}
			if _, err := fmt.Sscan(lines.Text(), &procs, &share); err != nil {
				t.Fatal(err)
			}
			if procs != 1 || share > quota+0.01 {
				t.Fatalf("%s: more than %v CPUs in one processor", lines.Text(), quota)
			}
			if ok(share) {
				return
			}
		}
		t.Fatalf("%s: waited in vain for %s", lines.Text(), what)
	}
	until("nearly all of it", func(share float64) bool { return share > 0.6*quota })
	inside(t, g, "sh", "-c", "while :; do :; done")
	until("half of it", func(share float64) bool { return share < 0.7*quota })
	t.Log(lines.Text())
}
