package lab

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSpeedAndLoadAreAsPlanned(t *testing.T) {
	l := bed(t, small)
	ctx := context.Background()
	n1 := host(t, l, "north1")
	got := func() float64 { return number(t, n1, "part-work", "1") }
	near(t, "processors", 0.25, got)
	must(t, n1.SetLoad(ctx, 2))
	near(t, "processors beside two others", 0.25/3, got)
	if again, err := Open(l.Name); err != nil || host(t, again, "north1").Load != 2 ||
		host(t, again, "north1").CountProcesses() != 2 {
		t.Errorf("the load is not known to others: %v", err)
	}
	must(t, n1.SetLoad(ctx, 1))
	near(t, "processors beside another", 0.25/2, got)
	must(t, n1.SetLoad(ctx, 0))
	must(t, n1.SetSpeed(ctx, 0.5))
	near(t, "processors after a change", 0.5, got)
	before, err := n1.CPUTime()
	must(t, err)
	got()
	if after, err := n1.CPUTime(); err != nil || after-before < 200*time.Millisecond {
		t.Errorf("the host has used %v in a second of work: %v", after-before, err)
	}
	if err := n1.SetLoad(ctx, 1000); err == nil {
		t.Error("a thousand loops were started")
	}
}

func TestHostsAndSitesAreCutOffFreezeCrashAndComeBack(t *testing.T) {
	l := bed(t, small)
	ctx := context.Background()
	n1, n2, s1 := host(t, l, "north1"), host(t, l, "north2"), host(t, l, "south1")
	serving(t, n2)
	serving(t, s1)
	reached := func(to *Host) bool { return n1.Command(ctx, testBinary(t), "part-reach", to.Name).Run() == nil }
	want := func(what string, within, between bool) {
		t.Helper()
		for _, x := range []struct {
			to   *Host
			want bool
		}{{n2, within}, {s1, between}} {
			if !x.want {
				if reached(x.to) {
					t.Errorf("%s: reached %s", what, x.to.Name)
				}
				continue
			}
			clocktest.WaitFor(t, what+": "+x.to.Name+" to answer", func() bool { return reached(x.to) })
		}
	}
	want("at first", true, true)
	must(t, l.CutOff(ctx, "north"))
	want("with the site cut off", true, false)
	must(t, l.UndoCut(ctx, "north"))
	want("joined again", true, true)
	must(t, l.CutOff(ctx, "north1"))
	want("with the host cut off", false, false)
	must(t, l.UndoCut(ctx, "north1"))
	want("the host joined again", true, true)

	must(t, n2.FreezeHost(ctx))
	want("with a host frozen", false, true)
	must(t, n2.ThawHost(ctx))
	want("thawed", true, true)

	must(t, n2.SetLoad(ctx, 1))
	daemon := n2.Command(ctx, "sleep", "1000")
	must(t, daemon.Start())
	must(t, n2.FreezeHost(ctx)) // crashes are thorough
	must(t, n2.CrashHost(ctx))
	if err := daemon.Wait(); err == nil {
		t.Error("a program outlived its host")
	}
	if n2.IsUp() || n2.CountProcesses() > 0 || n2.Load != 0 {
		t.Errorf("a host runs on after its crash: %+v", n2)
	}
	if out, err := n2.Command(ctx, "true").CombinedOutput(); err == nil || !strings.Contains(string(out), "down") {
		t.Errorf("a program on a host that is down: %v %s", err, out)
	}
	want("after a crash", false, true)
	must(t, n2.BootHost(ctx))
	if err := n2.BootHost(ctx); err == nil {
		t.Error("a host that runs was booted")
	}
	serving(t, n2)
	want("booted again", true, true)
	if got := strings.TrimSpace(output(t, n2, "hostname")); got != "north2" {
		t.Errorf("it is called %s now", got)
	}
}

func TestACommandEndsWithWhoeverWantsItAndTellsHowItEnded(t *testing.T) {
	l := bed(t, `clusters: [{name: north, cpus: 0.5, memory: 128M}]`)
	n1 := host(t, l, "north1")
	ctx, cancel := context.WithCancel(context.Background())
	cmd := n1.Command(ctx, "sleep", "1000")
	must(t, cmd.Start())
	clocktest.WaitFor(t, "the command to run", func() bool { return strings.Contains(output(t, n1, "ps", "-e"), "sleep") })
	cancel()
	cmd.Wait()
	clocktest.WaitFor(t, "the command to end", func() bool { return n1.CountProcesses() == 0 })
	for argv, want := range map[string]int{"exit 3": 3, "kill -9 $$": 137, "true": 0} {
		cmd := n1.Command(context.Background(), "sh", "-c", argv)
		cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s ends with %d, not %d", argv, got, want)
		}
	}
	if err := n1.Command(context.Background(), "no-such-program").Run(); err == nil {
		t.Error("a program that does not exist was run")
	}
	if err := n1.CommandAs(context.Background(), "mallory", "true").Run(); err == nil ||
		!strings.Contains(err.Error(), "mallory") {
		t.Errorf("a user that does not exist ran something: %v", err)
	}
	if err := n1.Command(context.Background(), "sh", "-c", "head -c 300M /dev/zero | tail").Run(); err == nil {
		t.Error("300 MB were used on a host that has 128")
	}
	must(t, n1.StartDaemon(context.Background(), "napping", nil, "sleep", "1000"))
	clocktest.WaitFor(t, "the daemon to run", func() bool { return n1.CountProcesses() == 1 })
}
