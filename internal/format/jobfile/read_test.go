package jobfile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/batchscript"
	"github.com/godwit-hpc/godwit/internal/format/jobfile/callertest"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func options(dir string, set ...string) Options {
	o := Options{Now: callertest.SubmitTime, Dir: dir, Environ: callertest.CallerEnviron()}
	for _, s := range set {
		name, value, _ := strings.Cut(s, "=")
		o.Set = append(o.Set, Setting{name, value})
	}
	return o
}

// readFile reads a job file of ours.
func readFile(path string, o Options) (*Job, []Warning, error) { return Read(path, o, noImporters) }

// noImporters refuse everything.
var noImporters = Importers{
	Slurm:      func(*Import, string, []batchscript.CommentLine) error { return errForeign },
	GridEngine: func(*Import, string, []batchscript.CommentLine) error { return errForeign },
	PSIJ:       func(*Import, string, []byte) error { return errForeign },
}

var errForeign = &badinput.Error{Problem: "it is for another system"}

// readText reads a job file of the given text.
func readText(t testing.TB, dir, text string, set ...string) (*Job, []Warning, error) {
	t.Helper()
	path := filepath.Join(dir, "job.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	job, warnings, err := readFile(path, options(dir, set...))
	return job, warnings, err
}

// plain is the job that comes of run: true.
func plain() *Job {
	return &Job{
		Name: "true", Argv: []string{"sh", "-c", "true"}, Min: 1, Max: 1,
		Retries: DefaultRetries, Checkpoint: Checkpoint{Method: "auto"},
	}
}

func TestAJobFileGivesEveryField(t *testing.T) {
	dir := callertest.MakeFolder(t, "src/flight.dat", "extra.db")
	job, warnings, err := readText(t, dir, `
name: engine-diagnosis
run: ./xto --input flight.dat
setup: make
workdir: src
inputs: [flight.dat, extra.db]
outputs: [report.json, out/*.csv]
envs: {SEED: "7", N: 12, EMPTY: ""}
deadline: 20m
estimate: 12m
procs: {min: 2, max: 32, initial: 4}
kind: moldable
resources: {memory: 2+, cpus: 1, time: 1h, processes: 50}
on: [near, far]
array: 1-100%20
retry: {max: 3, on: [node_fail, preempted]}
checkpoint: {method: signal, every: 10m, signal: SIGUSR1, files: [state.dat], restart: [./xto, --resume]}
progress: 'step (\d+)/(\d+)'
place: deadline
confidence: 0.9
reliability: 0.8
adapt: off
`)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	want := &Job{
		Name: "engine-diagnosis", Argv: []string{"sh", "-c", "./xto --input flight.dat"}, Setup: "make",
		Workdir: filepath.Join(dir, "src"), WorkdirGiven: true,
		Inputs: []string{"flight.dat", filepath.Join(dir, "extra.db")}, Outputs: []string{"report.json", "out/*.csv"},
		Env: map[string]string{"SEED": "7", "N": "12", "EMPTY": ""}, Deadline: 20 * time.Minute, Estimate: 12 * time.Minute,
		Min: 2, Max: 32, Initial: 4, Kind: core.Moldable, Memory: 2 << 30, Time: time.Hour, Processes: 50, On: []string{"near", "far"},
		Place: core.DeadlineFirst, Confidence: 0.9, Reliability: 0.8, Retries: 3, RetryOn: []string{"node_fail", "preempted"},
		Adapt:      AdaptOff,
		Checkpoint: Checkpoint{"signal", 10 * time.Minute, "USR1", []string{"state.dat"}, []string{"./xto", "--resume"}},
		Progress:   `step (\d+)/(\d+)`, Array: ArrayRange{First: 1, Last: 100, Step: 1, AtOnce: 20},
	}
	if diff := cmp.Diff(want, job); diff != "" {
		t.Error(diff)
	}
	data, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	want.WorkdirGiven = false // for the command line alone
	var back Job
	if err := json.Unmarshal(data, &back); err != nil || cmp.Diff(*want, back) != "" {
		t.Errorf("%v: as JSON and back: %s", err, cmp.Diff(*want, back))
	}
}

func TestWhatIsLeftOutHasADefault(t *testing.T) {
	for _, c := range []struct {
		text string
		want func(*Job)
	}{
		{"run: true", func(*Job) {}},
		{"run: |\n  # a comment\n  a/b.sh x\n", func(j *Job) {
			j.Argv[2], j.Name = "# a comment\na/b.sh x\n", "b.sh"
		}},
		{"run: a/b.sh x", func(j *Job) { j.Argv[2], j.Name = "a/b.sh x", "b.sh" }},
		{"argv: [/usr/bin/env, '', a b]", func(j *Job) { j.Argv, j.Name = []string{"/usr/bin/env", "", "a b"}, "env" }},
		{"run: python3 a/pi.py 20", func(j *Job) { j.Argv[2], j.Name = "python3 a/pi.py 20", "pi.py" }},
		{"argv: [/bin/bash, -l, x]", func(j *Job) { j.Argv, j.Name = []string{"/bin/bash", "-l", "x"}, "bash" }},
		{"run: true\nprocs: 4", func(j *Job) { j.Min, j.Max = 4, 4 }},
		{"run: true\nprocs: {max: 4}", func(j *Job) { j.Max, j.Kind = 4, core.Moldable }},
		{"run: true\nprocs: 2-4", func(j *Job) { j.Min, j.Max, j.Kind = 2, 4, core.Moldable }},
		{"run: true\nnum_nodes: 1\nresources: {cpus: 8+}", func(j *Job) { j.Min, j.Max, j.Nodes = 8, 8, 1 }},
		{"run: true\nnum_nodes: 2\nprocs: 4", func(j *Job) { j.Min, j.Max, j.Nodes = 4, 4, 2 }},
		{"run: true\nnum_nodes: 2\nresources: {cpus: 8}", func(j *Job) { j.Min, j.Max, j.Nodes = 16, 16, 2 }},
		{"run: true\nprocs: 4\nresources: {cpus: 1}", func(j *Job) { j.Min, j.Max = 4, 4 }},
		{"run: true\nresources: {grace: 0}", func(j *Job) { j.Grace = new(time.Duration) }},
		{"run: true\nresources: {memory: 1.5}", func(j *Job) { j.Memory = 3 << 29 }},
		{"run: true\nresources: {memory: 512M}", func(j *Job) { j.Memory = 512 << 20 }},
		{"run: true\nresources: {memory: 32GB+}", func(j *Job) { j.Memory = 32e9 }},
		{"run: true\ncheckpoint: sandbox", func(j *Job) { j.Checkpoint.Method = "sandbox" }},
		{"run: true\ncheckpoint: {every: never}", func(j *Job) { j.Checkpoint.Every = Never }},
		{"run: true\ncheckpoint: {method: exit85, files: a/b, restart: ./x -r}", func(j *Job) {
			j.Checkpoint = Checkpoint{Method: "exit85", Files: []string{"a/b"}, Restart: []string{"sh", "-c", "./x -r"}}
		}},
		{"run: true\ncheckpoint: {signal: TERM, files: [s]}",
			func(j *Job) { j.Checkpoint.Signal, j.Checkpoint.Files = "TERM", []string{"s"} }},
		{"run: true\narray: 0-90:10", func(j *Job) { j.Array = ArrayRange{Last: 90, Step: 10} }},
		{"run: true\narray: 7", func(j *Job) { j.Array = ArrayRange{First: 7, Last: 7, Step: 1} }},
		{"run: true\narray: 3,1,2", func(j *Job) { j.Array = ArrayRange{First: 1, Last: 3, Step: 1} }},
		{"run: true\narray: 1,7-9:2,3%2",
			func(j *Job) { j.Array = ArrayRange{First: 1, Last: 9, Step: 1, AtOnce: 2, List: "1,7-9:2,3"} }},
		{"run: true\nafter: prep", func(j *Job) { j.After = []Dependency{{Job: "prep"}} }},
		{"run: true\nafter: [12, 'afterany:13:14_2', singleton]", func(j *Job) {
			j.After = []Dependency{{Job: "12"}, {Job: "13", When: Over}, {Job: "14_2", When: Over}, {When: Alone}}
		}},
		{"run: true\nprogress: '(\\d+) %'", func(j *Job) { j.Progress = `(\d+) %` }},
		{"run: true\nrequirements:\nfile_mounts: {}\nafter: []", func(*Job) {}},
		{`{"run": "true", "procs": 2}`, func(j *Job) { j.Min, j.Max = 2, 2 }},
	} {
		want := plain()
		c.want(want)
		job, warnings, err := readText(t, t.TempDir(), c.text)
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v %v", c.text, err, warnings)
		} else if diff := cmp.Diff(want, job); diff != "" {
			t.Errorf("%s:\n%s", c.text, diff)
		}
	}
}

func TestADeadlineIsATimeOrAMoment(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Second, "1h30m": 90 * time.Minute, "2d": 48 * time.Hour,
		"2026-03-01T12:30:00Z": 30 * time.Minute, "2026-03-01 13:00": time.Hour, "2026-03-01T14:00:00+01:00": time.Hour,
		`"12:01"`: time.Minute, `"11:00"`: 23 * time.Hour, "2026-03-02 12:00:05": 24*time.Hour + 5*time.Second,
	} {
		job, _, err := readText(t, t.TempDir(), "run: true\ndeadline: "+text)
		if err != nil || job.Deadline != want {
			t.Errorf("%s: %v %+v", text, err, job)
			continue
		}
		later := callertest.SubmitTime.Add(10 * time.Second)
		job.FixMoments(later)
		if moment := strings.Contains(text, ":"); moment && job.Deadline != want-10*time.Second || !moment &&
			job.Deadline != want {
			t.Errorf("%s: submitted later it is due in %v", text, job.Deadline)
		}
	}
}

func TestSkyPilotsFilesLoadAndWhatOnlyCloudsKnowIsToldOf(t *testing.T) {
	job, warnings, err := readText(t, t.TempDir(), `
name: train
num_nodes: 1
workdir: .
resources:
  infra: aws/us-east-1
  accelerators: H100:8
  cpus: 4+
  memory: 32+
  use_spot: false
  any_of:
    - cloud: aws
envs:
  MODEL_SIZE: 13b
  LEARNING_RATE: 0.1
setup: |
  pip install -r requirements.txt
run: |
  echo $MODEL_SIZE
config: {}
`)
	if err != nil {
		t.Fatal(err)
	}
	if job.Name != "train" || job.Min != 4 || job.Memory != 32<<30 || job.Env["LEARNING_RATE"] != "0.1" ||
		job.Setup != "pip install -r requirements.txt\n" {
		t.Errorf("%+v", job)
	}
	var lines []int
	for _, w := range warnings {
		lines = append(lines, w.Line)
	}
	if diff := cmp.Diff([]int{6, 7, 10, 12, 20}, lines); diff != "" {
		t.Errorf("%v: %s", warnings, diff)
	}
	if w := warnings[1]; w.Field != "accelerators" ||
		w.Text != "the job runs on Slurm clusters only, with --gres=gpu:h100:8" || filepath.Base(w.File) != "job.yaml" {
		t.Errorf("%+v", w)
	}
}

func TestTheCommandLineGoesOverTheFile(t *testing.T) {
	dir := callertest.MakeFolder(t, "a/x", "b/y")
	job, _, err := readText(t, dir,
		"run: true\ndeadline: 5m\nprocs: 4\nworkdir: a\non: [p, q]\nenvs: {A: 1, TOKEN: }\ncheckpoint: {every: 5m}",
		"deadline=10m", "procs=2-3", "workdir=b", "on=r", "on=s", "env=A=2=3", "env=TOKEN", "checkpoint=restart",
		"checkpoint-every=auto")
	if err != nil {
		t.Fatal(err)
	}
	want := plain()
	want.Deadline, want.Min, want.Max, want.Kind, want.Workdir = 10*time.Minute, 2, 3, core.Moldable,
		filepath.Join(dir, "b")
	want.WorkdirGiven = true
	want.On, want.Env = []string{"r", "s"}, map[string]string{"A": "2=3", "TOKEN": "abc"}
	want.Checkpoint = Checkpoint{Method: "restart"}
	if diff := cmp.Diff(want, job); diff != "" {
		t.Error(diff)
	}
}

func TestACommandRunsWhereAndAsItWasTyped(t *testing.T) {
	dir := t.TempDir()
	job, _, err := FromCommand([]string{"./burn", "30", ""}, options(dir, "deadline=1m", "env=X=1", "input=/etc/passwd"))
	if err != nil {
		t.Fatal(err)
	}
	want := plain()
	want.Name, want.Argv, want.Workdir, want.Deadline = "burn", []string{"./burn", "30", ""}, dir, time.Minute
	want.Env, want.Caller = map[string]string{"X": "1"},
		map[string]string{"HOME": "/home/eve", "TOKEN": "abc", "PATH": "/bin"}
	want.Inputs = []string{"/etc/passwd"}
	if diff := cmp.Diff(want, job); diff != "" {
		t.Error(diff)
	}
	for _, argv := range [][]string{nil, {""}} {
		if _, _, err := FromCommand(argv, options(dir)); !badinput.Is(err) {
			t.Errorf("%q: %v", argv, err)
		}
	}
}

func TestTrialsComeWithTheFileOfAPattern(t *testing.T) {
	dir := callertest.MakeFolder(t, `two.pattern={"nodes": 2, "edges": [{"a": 0, "b": 1}], "trials": [{"hosts": ["n2", "n1"], "seconds": 1.5}]}`)
	for _, name := range []string{filepath.Join(dir, "two.pattern"), "two.pattern"} {
		file := filepath.Join(dir, "job.yaml")
		if err := os.WriteFile(file, []byte("run: x\nprocs: 2\npattern: "+name), 0o644); err != nil {
			t.Fatal(err)
		}
		j, _, err := readFile(file, options(dir))
		if err != nil || len(j.Trials) != 1 || j.Trials[0].Hosts[0] != "n2" {
			t.Errorf("%s: %+v, %v", name, j, err)
		}
	}
}
