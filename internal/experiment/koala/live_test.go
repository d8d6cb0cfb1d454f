package koala

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/cli"
	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// The test binary is also the program godwit, for brokers, agents and the commands of play.py.
func TestMain(m *testing.M) {
	if args := os.Args[1:]; len(args) > 0 && !strings.HasPrefix(args[0], "-test.") {
		os.Exit(cli.RunCommand("v0-test", args, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// twoClusters are parts of this machine that offer more cores than it has.
const twoClusters = `
clusters:
  - {name: large, cpus: [0], slots: 12, speed: 1}
  - {name: small, cpus: [0], slots: 4, speed: 1}
policy: {place: wf, approach: pwa, malleable: egs}
weather: {probe: "off"}
`

// startBroker runs a broker of the test's own and returns the environment of its users.
func startBroker(t *testing.T, settings string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "godwit")); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(dir, "state")
	env := append(os.Environ(), "GODWIT_STATE="+state, "PATH="+dir+":"+os.Getenv("PATH"))
	broker := exec.Command(self, "up", "--config", config)
	var said bytes.Buffer
	broker.Env, broker.Stdout, broker.Stderr = env, &said, &said
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = broker.Process.Signal(os.Interrupt) // it may have ended
		_ = broker.Wait()
		if t.Failed() {
			t.Logf("the broker said: %s", said.String())
		}
	})
	client := api.DialBroker(api.SocketPath(state))
	defer client.Close()
	clocktest.WaitFor(t, "the broker to answer", func() bool {
		_, err := client.PingBroker(t.Context())
		return err == nil
	})
	return env
}

// shortJobs are a tenth of the scaled ones, so many times longer, and come so that the first ones have to shrink for
// the last.
func shortJobs(t *testing.T, times float64) string {
	t.Helper()
	seconds := func(form string, at2, at4, at8, at16 float64) string {
		return fmt.Sprintf(form, times*at2, times*at4, times*at8, times*at16)
	}
	gadget := []string{seconds("2=%g,4=%g,8=%g,16=%g", 5, 4, 3.2, 2.5), "any", "0.1"}
	short := []string{seconds("2=%g,4=%g,8=%g,16=%g", 2, 1.5, 1, 1), "powers-of-two", "0.1"}
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	for i, args := range [][]string{gadget, short, gadget, short, gadget, gadget} {
		j := playedJob{At: times * 0.4 * float64(i), App: "gadget2", Kind: "malleable", Min: 2, Max: 46, Initial: 2,
			Args: args}
		if args[1] == short[1] {
			j.App, j.Max = "ft", 32
		}
		if err := lines.Encode(&j); err != nil {
			t.Fatal(err)
		}
	}
	rigid := playedJob{At: times * 2.4, App: "ft", Kind: "rigid", Min: 2, Max: 2, Args: short}
	if err := lines.Encode(&rigid); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "jobs.jsonl")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// playShort has a broker run shortJobs and returns what became of them.
func playShort(t *testing.T, times float64) (*Run, []core.Event) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log.jsonl")
	play := exec.CommandContext(t.Context(), "python3", filepath.Join(scenarios, "play.py"), shortJobs(t, times))
	play.Env = append(startBroker(t, twoClusters), "KOALA_LOG="+log)
	play.WaitDelay = time.Second
	out, err := play.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%g times as long:\n%s", times, out)
	events, err := readEvents(log)
	if err != nil {
		t.Fatal(err)
	}
	return (&LiveRun{Events: events}).liveRun(16), events
}

// Real jobs of a real broker grow when there is room, and make room for others; those that take powers of two
// alone never have another size.
func TestRealJobsChangeTheirSizeAsThePolicySays(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3: the jobs are written in it")
	}
	times := 1.
	run, events := playShort(t, times)
	for run.Summary.ShrinkOps == 0 && times < 8 {
		times *= 2 // on a busy machine the last may come before the first have begun, and find room
		run, events = playShort(t, times)
	}
	s := &run.Summary
	if s.Jobs != 7 || s.Completed != 7 || s.GrowOps == 0 || s.ShrinkOps == 0 || s.MaxSizeMean <= smallest {
		t.Errorf("%+v", s)
	}
	for i := range run.Records {
		rec := &run.Records[i]
		if rec.Kind == core.Rigid && (rec.MaxSize != 2 || rec.MeanSize() != 2) {
			t.Errorf("job %d is rigid and had %d cores", i+1, rec.MaxSize)
		}
		if least := times * map[string]float64{"gadget2": 2.5, "ft": 1}[run.Apps[i]]; rec.RunSeconds() < least {
			t.Errorf("job %d, %s, took %.2f s, less than with all cores there are", i+1, run.Apps[i], rec.RunSeconds())
		}
	}
	for i := range events {
		if ev := &events[i]; ev.Kind == core.PartPlanned && ev.N != 2 {
			t.Errorf("job %d starts with %d cores, not with the 2 that it asks for", ev.Job, ev.N)
		}
	}
	for _, size := range grownSizes(events, "ft") {
		if bits.OnesCount(uint(size)) != 1 {
			t.Errorf("a job that takes powers of two has grown to %d cores", size)
		}
	}
}

// grownSizes are the sizes to which jobs of a program have grown.
func grownSizes(events []core.Event, app string) (grown []int) {
	size, apps := map[core.JobID]int{}, map[core.JobID]string{}
	for i := range events {
		switch ev := &events[i]; {
		case ev.Kind == core.JobSubmitted:
			apps[ev.Job] = ev.Spec.Name
		case ev.Kind == core.PartPlanned:
			size[ev.Job] = ev.N
		case ev.Kind == core.PartAnswered && ev.Grow && ev.N > 0:
			size[ev.Job] += ev.N
			if apps[ev.Job] == app {
				grown = append(grown, size[ev.Job])
			}
		case ev.Kind == core.PartAnswered && !ev.Grow, ev.Kind == core.PartGaveBack:
			size[ev.Job] -= ev.N
		}
	}
	return grown
}
