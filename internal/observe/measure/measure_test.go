package measure

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/sched/perfmodel"
)

// sweep is a program that reads n kilobytes 20 times over.
const sweep = `
#include <stdlib.h>
int main(int argc, char **argv) {
	long n = 1024 * atol(argv[1]), sum = 0;
	volatile char *a = calloc(n, 1);
	if (argc > 2) { abort(); }
	for (int turn = 0; turn < 20; turn++)
		for (long i = 0; i < n; i++) sum += a[i];
	return sum != 0;
}`

// compiled is the program as a file.
func compiled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sweep")
	cmd := exec.Command("cc", "-O1", "-x", "c", "-o", path, "-")
	cmd.Stdin = strings.NewReader(sweep)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return path
}

// anyHost has rates that are good enough where they do not matter.
func anyHost() perfmodel.Host {
	return perfmodel.Host{Name: "h", Operations: 2e9, Flops: 1e9, Speed: 1, Fault: 1e-6, Page: 4096,
		Levels: []perfmodel.Level{
			{Bytes: 32 << 10, Latency: 1e-9, InOrder: 0.3e-9}, {Latency: 100e-9, InOrder: 5e-9}}}
}

func TestSimulatedCachesCountWhatAProgramMisses(t *testing.T) {
	program := Program{Argv: []string{compiled(t), Placeholder}}
	ctx := context.Background()
	const kilobytes = 256
	once := float64(kilobytes * 1024 / perfmodel.Line)
	c, err := simulateMisses(ctx, program.commandAt(kilobytes), "", cache{64 << 10, perfmodel.Line},
		cache{1 << 20, perfmodel.Line}, false)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(c.nearby/(20*once)-1) > 0.2 || math.Abs(c.further/once-1) > 0.5 {
		t.Errorf("64 KiB miss %g, want about %g; 1 MiB %g, want about %g", c.nearby, 20*once, c.further, once)
	}
}

func TestLinesThatWereWrittenToAreCountedAsTheyGoBack(t *testing.T) {
	program := Program{Argv: []string{compiled(t), Placeholder}}
	const kilobytes = 256
	c, err := simulateMisses(context.Background(), program.commandAt(kilobytes), "", cache{8 << 10, perfmodel.Line},
		cache{64 << 10, perfmodel.Line}, true)
	if err != nil {
		t.Fatal(err)
	}
	// Turn after turn is only read.
	if once := float64(kilobytes * 1024 / perfmodel.Line); c.further < 19*once || c.written > 2*once {
		t.Errorf("%+v: %g lines", c, once)
	}
}

func TestAProgramIsFittedAndForetold(t *testing.T) {
	program := Program{Argv: []string{"sh", "-c", compiled(t) + " {n}"}} // its children count too
	m, err := FitModel(context.Background(),
		Options{Program: program, Name: "sweep", Sizes: []float64{100, 200, 400}, Counter: perfmodel.CounterValgrind,
			Host: anyHost(), Clock: clock.RealClock(), Tell: func(string, int, int) {}})
	if err != nil {
		t.Fatal(err)
	}
	lead := m.Work.BestFormula().Terms
	if got := lead[len(lead)-1]; got != (perfmodel.Term{Power: 1}) {
		t.Errorf("grows with %s: %s", got, m.Work.BestFormula())
	}
	text, err := m.EncodeFile()
	if err == nil {
		_, err = perfmodel.DecodeFile(text)
	}
	if err != nil {
		t.Error(err)
	}
}

func TestAProgramThatFailsIsToldWithItsLastLines(t *testing.T) {
	for want, script := range map[string]string{
		"exit code 7":       "seq 20; echo bad >&2; exit 7",
		"killed by SIGKILL": "seq 20; echo bad >&2; kill -9 $$",
	} {
		_, _, err := TimeProgram(context.Background(), Program{Argv: []string{"sh", "-c", script}}, 5, 1)
		var failed *FailedError
		if !errors.As(err, &failed) || failed.How != want || failed.Last != "17\n18\n19\n20\nbad" {
			t.Errorf("%q: %v", script, err)
		}
	}
	_, _, err := TimeProgram(context.Background(), Program{Argv: []string{"/nonexistent/program"}}, 5, 1)
	if failed := new(FailedError); !errors.As(err, &failed) {
		t.Errorf("%v", err)
	}
}

func TestMeasuringEndsWhenItIsToldToWithAllThatItStarted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	pidFile := filepath.Join(t.TempDir(), "pid")
	over := make(chan error, 1)
	go func() {
		_, _, err := TimeProgram(ctx, Program{Argv: []string{"sh", "-c", "sleep 1000 & echo $! >" + pidFile + ".new; mv " +
			pidFile + ".new " + pidFile + "; wait"}}, 1, 1)
		over <- err
	}()
	var pid int
	clocktest.WaitFor(t, "the start of its child", func() bool {
		if text, err := os.ReadFile(pidFile); err == nil {
			pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return pid != 0
	})
	cancel()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	clocktest.WaitFor(t, "the end of its child", func() bool { return unix.Kill(pid, 0) != nil || zombie(pid) })
}

// zombie says whether a process has ended and nobody has asked how.
func zombie(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err != nil || strings.Contains(string(text), ") Z ")
}

func TestEventsOfAProgramAndItsChildrenAreCounted(t *testing.T) {
	// The processor's counters are not to be had everywhere; the kernel's are.
	faults := event{unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS}
	ctx := context.Background()
	one, err := countEvent(ctx, faults, []string{"true"}, "")
	if err != nil {
		t.Fatal(err)
	}
	many, err := countEvent(ctx, faults, []string{"sh", "-c", "true; /bin/true; /bin/true; /bin/true"}, "")
	if err != nil || many < 2*one {
		t.Errorf("one program %g faults, three and a shell %g (%v)", one, many, err)
	}
}

func TestACounterThatWasSharedIsExtrapolated(t *testing.T) {
	var text [24]byte
	for i, v := range []uint64{100, 4, 2} {
		binary.NativeEndian.PutUint64(text[8*i:], v)
	}
	if got, err := scaledCount(text); err != nil || got != 200 {
		t.Errorf("%g %v", got, err)
	}
	if _, err := scaledCount([24]byte{}); err == nil {
		t.Error("nothing was counted, and that is no error")
	}
}

func TestACounterThatIsNotThereIsRefused(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var cannot *NoCounterError
	if _, err := chooseCounter(perfmodel.CounterValgrind); !errors.As(err, &cannot) {
		t.Errorf("got %v", err)
	}
	if got, err := chooseCounter(Auto); err != nil || got == perfmodel.CounterValgrind {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestTheCachesOfARunGrowAndCoverWhatIsTouched(t *testing.T) {
	for _, footprint := range []float64{0, 1e3, 1e6, 1e12} {
		for _, p := range cachePairs(footprint) {
			if p.near.line != p.far.line || p.near.capacity >= p.far.capacity || p.near.capacity < 16*p.near.line {
				t.Errorf("%g: %+v", footprint, p)
			}
		}
		if n := len(cachePairs(footprint)); n > 20 {
			t.Errorf("%g: %d runs", footprint, n)
		}
	}
}

func FuzzParseSummary(f *testing.F) {
	f.Add("==12== I   refs:      8,612,761\n==12== D1  misses:      135,668  (  131,497 rd   +     4,171 wr)\n==12== " +
		"LLd misses:  7 ( 1 rd + 6 wr)\n")
	f.Fuzz(func(t *testing.T, log string) {
		if c := parseSummary(log); c.instructions < 0 || c.nearby < 0 || c.further < 0 || c.written < 0 {
			t.Errorf("%+v", c)
		}
	})
}

func TestTheSummaryOfCachegrindIsRead(t *testing.T) {
	got := parseSummary("==12== \n==12== I   refs:      8,612,761\n==12== I1  misses: 3\n==12== D1  misses:      " +
		"135,668  (  131,497 rd   +     4,171 wr)\n==12== LLd misses:  7 ( 1 rd + 6 wr)\n")
	if want := (counted{8612761, 135668, 7, 0}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	got = parseSummary("==12== Events    : Ir Dr Dw ILdmr DLdmr DLdmw\n==12== Collected : 100 10 5 1 20 300\n==12== " +
		"\n==12== I   refs:      100\n")
	if want := (counted{100, 0, 0, 320}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestTheTimeOfSeveralRunsIsTheirMeanWithItsSpread(t *testing.T) {
	r := (&timed{size: 7, took: []float64{1, 1, 1, 3}, slow: []float64{1, 1, 1, 1}, sum: 6, faults: 9}).summariseRuns(1)
	if r.CPU != 1.5 || r.Runs != 4 || r.Size != 7 || r.Faults != 9 || math.Abs(r.Noise-1/1.5) > 1e-9 {
		t.Errorf("%+v", r)
	}
}

func TestASingleRunThatWasDisturbedDoesNotBendTheTimesOfItsSize(t *testing.T) {
	make := func(size, took float64, disturbed ...float64) *timed {
		x := &timed{size: size}
		for i := range 20 {
			x.took, x.slow = append(x.took, took*(1+0.01*float64(i%5-2))), append(x.slow, 1)
		}
		for _, d := range disturbed {
			x.took, x.slow = append(x.took, d), append(x.slow, 1)
		}
		for _, v := range x.took {
			x.sum += v
		}
		return x
	}
	all := []*timed{make(1, 1), make(2, 8, 80), make(3, 27)}
	var usual []*timed
	for i, x := range all {
		u := x.withoutBursts()
		if len(u.took) != 20 {
			t.Errorf("size %d: %d of %d runs are usual, want 20", i+1, len(u.took), len(x.took))
		}
		usual = append(usual, u)
	}
	if r := usual[1].summariseRuns(1); math.Abs(r.CPU-8) > 1e-9 || r.Noise > 0.03 {
		t.Errorf("%+v: want 8 s", r)
	}
	// 72 s more than 728 s, half of which is taken to last.
	if f := burstFactor(all, usual); math.Abs(f-math.Sqrt(800.0/728)) > 1e-9 {
		t.Errorf("factor %v", f)
	}
	if f := burstFactor(usual, usual); f != 1 {
		t.Errorf("factor %v without bursts", f)
	}
}

func TestRunsThatDifferEvenlyAreAllUsual(t *testing.T) {
	even := &timed{took: []float64{1, 1.3, 1.6, 1.9, 2.2, 2.5}, slow: []float64{1, 1, 1, 1, 1, 1}}
	slow := &timed{took: []float64{1, 1, 1, 1, 1, 1.5}, slow: []float64{1, 1, 1, 1, 1, 1.5}} // known to be the host
	few := &timed{took: []float64{1, 1, 9}, slow: []float64{1, 1, 1}}
	for _, x := range []*timed{even, slow, few} {
		if u := x.withoutBursts(); len(u.took) != len(x.took) {
			t.Errorf("of %v only %v", x.took, u.took)
		}
	}
}

func TestABadMomentOfTheHostIsNoSpreadOfTheProgram(t *testing.T) {
	r := (&timed{took: []float64{1, 1, 2, 2}, slow: []float64{1, 1, 2, 2}, sum: 6}).summariseRuns(1)
	if r.CPU != 1.5 || r.Noise != 0 || r.Slow != 1.5 || math.Abs(r.SlowOff-math.Sqrt(1.0/3)) > 1e-9 {
		t.Errorf("%+v", r)
	}
}

func TestHowMuchAProgramFeelsASlowHostIsLearnt(t *testing.T) {
	for _, want := range []float64{0, 0.5, 1, 1.3} {
		var sizes []*timed
		for _, base := range []float64{0.01, 0.04} {
			one := new(timed)
			for i := range 40 {
				slow := 1 + 0.4*float64(i%4)/3
				one.slow = append(one.slow, slow)
				one.took = append(one.took, base*math.Pow(slow, want)*(1+0.02*float64(i%5-2)))
			}
			sizes = append(sizes, one)
		}
		if got := slownessExponent(sizes); math.Abs(got-want) > 0.1 {
			t.Errorf("%g, want %g", got, want)
		}
	}
	steady := &timed{took: []float64{1, 1.1, 0.9, 1}, slow: []float64{1, 1, 1, 1}}
	if got := slownessExponent([]*timed{steady}); math.Abs(got-feels) > 1e-9 {
		t.Errorf("%g of a host that never was slow: nothing was learnt", got)
	}
}

func TestAProgramRunsOnTheCPUThatIsLookedAt(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	var mu sync.Mutex
	looked := map[int]int{}
	p := Program{Argv: []string{"sh", "-c", "grep Cpus_allowed_list /proc/self/status >" + out + "; sleep 0.1"},
		Slowness: func(cpu int) (float64, error) {
			mu.Lock()
			defer mu.Unlock()
			looked[cpu]++
			return []float64{1, 2}[looked[cpu]%2], nil // a mean of 4/3 by the work that is done in equal times
		}}
	r, _, err := TimeProgram(context.Background(), p, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	cpu, wrong := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(string(text), "Cpus_allowed_list:")))
	if err != nil || wrong != nil || len(looked) != 1 || looked[cpu] < 3*r.Runs {
		t.Errorf("it ran on %q, looked at were %v (%v)", text, looked, err)
	}
	if r.Slow < 1.2 || r.Slow > 1.7 {
		t.Errorf("%+v", r)
	}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil || runtime.NumCPU() > 1 && set.Count() == 1 {
		t.Errorf("whoever measures is confined, too: %v (%v)", set.Count(), err)
	}
}

func TestHowSlowTheHostIsNowIsTheMeanOfManyLooks(t *testing.T) {
	looks := 0
	got, err := CurrentSlowness(context.Background(), func(int) (float64, error) {
		looks++
		return []float64{1, 3}[looks%2], nil
	})
	if err != nil || math.Abs(got-1.5) > 0.05 || looks < 10 { // half of the time a third of the work
		t.Errorf("%g after %d looks (%v)", got, looks, err)
	}
	blind := errors.New("blind")
	if _, err := CurrentSlowness(context.Background(), func(int) (float64, error) { return 0, blind }); !errors.Is(err,
		blind) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := CurrentSlowness(ctx, func(int) (float64, error) { return 1, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAllSizesRunInTurn(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	o := Options{Program: Program{Argv: []string{"sh", "-c", "echo {n} >>" + log}}, Tell: func(string, int, int) {}}
	sizes := []*timed{{size: 1}, {size: 2}, {size: 3}}
	for _, least := range []int{2, 3} { // what ran before counts
		if err := o.runRounds(context.Background(), sizes, least, least, 0); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(log)
	if want := strings.Repeat("1\n2\n3\n", 3); err != nil || string(text) != want {
		t.Errorf("%q, want %q (%v)", text, want, err)
	}
}
