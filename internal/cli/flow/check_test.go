package flow

import (
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/godwit-hpc/godwit/internal/cli/connect"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/clock"
)

// What follows checks the files that `flow plan --schedule-out` writes as somebody
// else would: it reads WfFormat and the platform by itself and shares nothing with
// the readers, the planner and its own check.

// recorded is WfFormat as far as a plan depends on it.
type recorded struct {
	Workflow struct {
		Specification struct {
			Tasks []struct {
				ID                                         string
				Parents, Children, InputFiles, OutputFiles []string
			}
			Files []struct {
				ID          string
				SizeInBytes float64
			}
		}
		Execution struct {
			Tasks []struct {
				ID               string
				RuntimeInSeconds float64
				MemoryInBytes    float64
				CoreCount        float64
			}
		}
	}
}

func readRecorded(t testing.TB, path string) *recorded {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var in io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	w := &recorded{}
	if err := json.NewDecoder(in).Decode(w); err != nil {
		t.Fatal(err)
	}
	return w
}

// A checkedGrid is a platform whose clusters form a tree: there is one way between two.
type checkedGrid struct {
	hosts map[string]checkedHost
	link  map[string]wire    // of the hosts of a cluster
	next  map[string][]joint // clusters that a line joins
}

type checkedHost struct {
	cluster       string
	cores         int
	speed, memory float64
}

type wire struct{ Mbps, Ms float64 }

type joint struct {
	to string
	wire
}

func readPlatform(t testing.TB, path string) *checkedGrid {
	t.Helper()
	var file struct {
		Clusters []struct {
			Name   string
			Hosts  yaml.Node
			Cores  int
			Speed  float64
			Memory string
			Link   wire
		}
		Links []struct {
			A, B string
			wire `yaml:",inline"`
		}
	}
	data, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(data, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	gib := func(text string) float64 {
		n, err := strconv.ParseFloat(strings.TrimSuffix(text, "G"), 64)
		if err != nil {
			t.Fatalf("%s: memory %q", path, text)
		}
		return n * (1 << 30)
	}
	g := &checkedGrid{map[string]checkedHost{}, map[string]wire{}, map[string][]joint{}}
	for _, c := range file.Clusters {
		g.link[c.Name] = c.Link
		if c.Hosts.Kind == yaml.ScalarNode {
			n, _ := strconv.Atoi(c.Hosts.Value)
			for i := range n {
				g.hosts[c.Name+strconv.Itoa(i+1)] = checkedHost{c.Name, c.Cores, c.Speed, gib(c.Memory)}
			}
			continue
		}
		var list []struct {
			Name   string
			Cores  int
			Speed  float64
			Memory string
		}
		if err := c.Hosts.Decode(&list); err != nil {
			t.Fatal(err)
		}
		for _, h := range list {
			g.hosts[h.Name] = checkedHost{c.Name, h.Cores, h.Speed, gib(h.Memory)}
		}
	}
	for _, l := range file.Links {
		g.next[l.A] = append(g.next[l.A], joint{l.B, l.wire})
		g.next[l.B] = append(g.next[l.B], joint{l.A, l.wire})
	}
	return g
}

// way is the smallest rate and the sum of latencies between two different hosts.
func (g *checkedGrid) way(from, to string) (mbps, seconds float64) {
	a, b := g.hosts[from].cluster, g.hosts[to].cluster
	mbps, ms := min(g.link[a].Mbps, g.link[b].Mbps), g.link[a].Ms+g.link[b].Ms
	var walk func(at, before string, mbps, ms float64) (float64, float64, bool)
	walk = func(at, before string, mbps, ms float64) (float64, float64, bool) {
		if at == b {
			return mbps, ms, true
		}
		for _, j := range g.next[at] {
			if j.to == before {
				continue
			}
			if mbps, ms, ok := walk(j.to, at, min(mbps, j.Mbps), ms+j.Ms); ok {
				return mbps, ms, true
			}
		}
		return 0, 0, false
	}
	mbps, ms, ok := walk(a, "", mbps, ms)
	if !ok {
		return math.NaN(), math.NaN()
	}
	return mbps, ms / 1e3
}

// A row is one of the plan.
type row struct {
	task, host string
	core       int
	start, end float64
}

func readPlan(text string) (map[string]row, error) {
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if head := strings.Join(lines[0], ","); head != "task,host,core,start,end" {
		return nil, fmt.Errorf("head %q", head)
	}
	plan := map[string]row{}
	for _, l := range lines[1:] {
		core, err1 := strconv.Atoi(l[2])
		start, err2 := strconv.ParseFloat(l[3], 64)
		end, err3 := strconv.ParseFloat(l[4], 64)
		if _, twice := plan[l[0]]; twice || err1 != nil || err2 != nil || err3 != nil {
			return nil, fmt.Errorf("row %q", l)
		}
		plan[l[0]] = row{l[0], l[1], core, start, end}
	}
	return plan, nil
}

// tolerance is how far times may be apart that are computed in another order.
func tolerance(seconds float64) float64 { return 1e-9 * (1 + seconds) }

// checkPlan says what is wrong with a plan. A task starts when all its parents have
// ended and the files it reads of them are on its host, those of one parent one after
// another. Makers of its files are parents too.
func checkPlan(w *recorded, g *checkedGrid, plan map[string]row) error {
	spec := &w.Workflow.Specification
	if len(plan) != len(spec.Tasks) {
		return fmt.Errorf("%d rows for %d tasks", len(plan), len(spec.Tasks))
	}
	if err := checkRuns(w, g, plan); err != nil {
		return err
	}
	size, maker := map[string]float64{}, map[string]string{}
	for _, f := range spec.Files {
		size[f.ID] = f.SizeInBytes
	}
	parents := map[string]map[string]bool{}
	for _, t := range spec.Tasks {
		parents[t.ID] = map[string]bool{}
		for _, f := range t.OutputFiles {
			maker[f] = t.ID
		}
	}
	for _, t := range spec.Tasks {
		for _, p := range t.Parents {
			parents[t.ID][p] = true
		}
		for _, c := range t.Children {
			parents[c][t.ID] = true
		}
	}
	for _, t := range spec.Tasks {
		me, there := plan[t.ID], map[string]float64{}
		for p := range parents[t.ID] {
			there[p] = plan[p].end
		}
		inputs := map[string]bool{}
		for _, f := range t.InputFiles {
			p, made := maker[f]
			if !made || inputs[f] {
				continue
			}
			inputs[f] = true
			if there[p] == 0 {
				there[p] = plan[p].end
			}
			if plan[p].host != me.host {
				mbps, latency := g.way(plan[p].host, me.host)
				there[p] += latency + 8*size[f]/(mbps*1e6)
			}
		}
		for p, at := range there {
			if !(me.start >= at-tolerance(at)) {
				return fmt.Errorf("task %s starts at %v, what it needs of %s is there at %v", t.ID, me.start, p, at)
			}
		}
	}
	return nil
}

// checkRuns looks at where tasks run, for how long, and whether they are alone there.
func checkRuns(w *recorded, g *checkedGrid, plan map[string]row) error {
	for _, t := range w.Workflow.Execution.Tasks {
		me, ok := plan[t.ID]
		h, known := g.hosts[me.host]
		switch {
		case !ok || !known:
			return fmt.Errorf("task %s on %q", t.ID, me.host)
		case me.core < 0 || me.core >= h.cores || me.start < 0:
			return fmt.Errorf("task %s on core %d of %s from %v", t.ID, me.core, me.host, me.start)
		case t.MemoryInBytes > h.memory || t.CoreCount > float64(h.cores):
			return fmt.Errorf("task %s needs %v bytes and %v cores, not those of %s", t.ID, t.MemoryInBytes, t.CoreCount,
				me.host)
		case math.Abs(me.end-me.start-t.RuntimeInSeconds/h.speed) > tolerance(me.end):
			return fmt.Errorf("task %s takes %v s on %s", t.ID, me.end-me.start, me.host)
		}
	}
	var rows []row
	for _, r := range plan {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.core, b.core), cmp.Compare(a.start, b.start),
			cmp.Compare(a.end, b.end))
	})
	for i := 1; i < len(rows); i++ {
		a, b := rows[i-1], rows[i]
		if a.host == b.host && a.core == b.core && b.start < a.end-tolerance(a.end) {
			return fmt.Errorf("tasks %s and %s run at once on core %d of %s", a.task, b.task, a.core, a.host)
		}
	}
	return nil
}

// planned is the plan that the command makes.
func planned(t *testing.T, workflow, platform string, flags ...string) map[string]row {
	t.Helper()
	out := filepath.Join(t.TempDir(), "plan.csv")
	cmd := NewCommand(connect.NewConnector(&term.App{Name: "godwit", Stdout: io.Discard, Stderr: io.Discard,
		Now: clock.RealClock()}))
	cmd.SetArgs(append([]string{"plan", workflow, "--platform", platform, "--schedule-out", out}, flags...))
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%s on %s: %v", workflow, platform, err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := readPlan(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestNoPlanOfARecordedWorkflowStartsATaskBeforeItsDataIsThere(t *testing.T) {
	platforms := []string{"hetero8", "hetero64", "hetero512"}
	files := workflows(t, 1)
	for i, workflow := range files {
		w := readRecorded(t, workflow)
		// Each on one platform, so that this takes seconds; large ones without what takes
		// long to find.
		platform := "../../../examples/platforms/" + platforms[i%len(platforms)] + ".yaml"
		flags := []string{"--steps", "300"}
		if len(w.Workflow.Specification.Tasks) > 300 {
			flags = []string{"--heuristics", []string{"heft,backward", "min-min,heft", "lookahead,heft"}[i/3%3], "--improve",
				"0s"}
		}
		if err := checkPlan(w, readPlatform(t, platform), planned(t, workflow, platform, flags...)); err != nil {
			t.Errorf("%s on %s: %v", workflow, platform, err)
		}
	}
	t.Logf("%d plans", len(files))
}

// twoFiles has a task that reads two files of another, 873 MB each, which cannot run
// on the same host.
const twoFiles = `{"name":"two","schemaVersion":"1.5","workflow":{"specification":{
"tasks":[{"id":"make","parents":[],"children":["read"],"inputFiles":["seed"],"outputFiles":["x","y","empty"]},
{"id":"read","parents":["make"],"children":[],"inputFiles":["x","y","x","empty"],"outputFiles":[]}],
"files":[{"id":"x","sizeInBytes":873000000},{"id":"y","sizeInBytes":873000000},{"id":"empty","sizeInBytes":0},{"id":"seed","sizeInBytes":5e9}]},
"execution":{"tasks":[{"id":"make","runtimeInSeconds":10,"coreCount":2},{"id":"read","runtimeInSeconds":10,"memoryInBytes":8000000000}]}}}`

const twoHosts = `
clusters:
  - {name: left, hosts: 1, cores: 2, speed: 1, memory: 4G, link: {mbps: 1000, ms: 1}}
  - {name: right, hosts: 1, cores: 1, speed: 2, memory: 16G, link: {mbps: 1000, ms: 1}}
links:
  - {a: left, b: right, mbps: 200, ms: 8}
`

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTwoFilesOfATaskTakeTwiceAsLongAsOne(t *testing.T) {
	workflow, platform := writeFile(t, "two.json", twoFiles), writeFile(t, "two.yaml", twoHosts)
	plan := planned(t, workflow, platform)
	// Twice 34.92 s for the data, and three times 10 ms.
	const there = 10 + 2*34.92 + 3*0.010
	if got := plan["read"].start; math.Abs(got-there) > 1e-6 {
		t.Errorf("read starts at %v, its data is there at %v", got, there)
	}
	w, g := readRecorded(t, workflow), readPlatform(t, platform)
	if err := checkPlan(w, g, plan); err != nil {
		t.Error(err)
	}
	for name, wrong := range map[string]func(make, read *row){
		"as if the largest file were the only one": func(_, read *row) { read.start, read.end = 44.94, 49.94 },
		"a latency too early":                      func(_, read *row) { read.start, read.end = there-0.01, there+4.99 },
		"before its parent":                        func(_, read *row) { read.start, read.end = 0, 5 },
		"on a host without the memory":             func(_, read *row) { read.host, read.start, read.end = "left1", 90, 100 },
		"on a core that is not there":              func(_, read *row) { read.core = 1 },
		"too short":                                func(_, read *row) { read.end-- },
		"on a host that is not there":              func(make, _ *row) { make.host = "left2" },
	} {
		changed := map[string]row{}
		m, r := plan["make"], plan["read"]
		wrong(&m, &r)
		changed["make"], changed["read"] = m, r
		if checkPlan(w, g, changed) == nil {
			t.Errorf("the check accepts a plan with a task %s", name)
		}
	}
}
