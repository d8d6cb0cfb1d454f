package slurm

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/format/hostlist"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

// recorded is what a real Slurm said.
func recorded(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheQueueIsRead(t *testing.T) {
	at := func(clock string) time.Time {
		tm, err := time.Parse(time.DateTime, "2026-11-15 "+clock)
		if err != nil {
			t.Fatal(err)
		}
		return tm
	}
	got := parseQueue(recorded(t, "queue-22.05.txt"), "gw-1a2b3c4d-")
	for _, want := range []batch.Entry{
		{ID: "3", Name: "gw-1a2b3c4d-2.1", Why: "Resources"},
		{ID: "5", Name: "gw-1a2b3c4d-4.1", Why: "Dependency"},
		{ID: "4", Name: "gw-1a2b3c4d-3.1", Why: "JobHeldUser"},
		{ID: "16", Name: "gw-1a2b3c4d-6.1", Why: "BeginTime", Start: at("11:05:40")},
		{ID: "1", Name: "gw-1a2b3c4d-1.1", State: batch.Running, Hosts: []string{"n1"}, Start: at("10:05:40")},
	} {
		if !slices.ContainsFunc(got, func(e batch.Entry) bool { return reflect.DeepEqual(e, want) }) {
			t.Errorf("%+v is missing from %+v", want, got)
		}
	}
	if len(got) != 11 {
		t.Errorf("%d of ours: %+v", len(got), got)
	}
	for i := range got {
		if got[i].Hopeless != (got[i].Why == "DependencyNeverSatisfied") {
			t.Errorf("%+v", got[i])
		}
	}
	for reason, want := range map[string]bool{"AssocMaxCpuPerJobLimit": true, "QOSMaxNodePerJobLimit": true,
		"QOSMaxCpuPerUserLimit": false, "Priority": false,
		"JobHeldUser": false, "PartitionTimeLimit": true, "MaxMemPerLimit": false} {
		if isHopeless(reason) != want {
			t.Errorf("%s is hopeless: %v", reason, !want)
		}
	}
	other := parseQueue(recorded(t, "queue-22.05.txt"), "gw|x")
	if len(other) != 2 || other[0].Name != "gw|x y" || !slices.Equal(other[0].Hosts, []string{"n2", "n3"}) {
		t.Errorf("%+v", other)
	}
}

func TestStatesMeanWhatTheySay(t *testing.T) {
	for word, want := range map[string]batch.State{
		"PENDING": batch.Pending, "CONFIGURING": batch.Pending, "REQUEUE_HOLD": batch.Pending, "RUNNING": batch.Running,
		"SUSPENDED":  batch.Running,
		"COMPLETING": batch.Leaving, "COMPLETED": jobGone, "NODE_FAIL": jobGone, "CANCELLED by 0": jobGone,
		"CANCELLED+": jobGone, "TIMEOUT": jobGone,
		"NEW_STATE_OF_SLURM_99": batch.Running, // it is there
	} {
		if got, _ := stateOf(word); got != want {
			t.Errorf("%s is %v, want %v", word, got, want)
		}
	}
}

func TestEndingsAreRead(t *testing.T) {
	want := map[string]batch.Ending{
		"1": {How: "CANCELLED", Cause: jobfile.Preempted}, "3": {How: "CANCELLED", Cause: jobfile.Preempted},
		"12": {How: "FAILED, BadConstraints", Signal: 1}, "13": {How: "COMPLETED"},
	}
	if got := parseJobs(recorded(t, "jobs-22.05.txt")); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	// As sacct told them of jobs that failed, were cancelled by their user and by
	// root, preempted, shrunk, or lost their node; steps are in between.
	gone := func(how string) batch.Ending { return batch.Ending{How: how, Cause: jobfile.Preempted} }
	want = map[string]batch.Ending{
		"24": {How: "COMPLETED"}, "25": {How: "FAILED", Code: 3}, "26": {How: "FAILED", Signal: 11},
		"27": {How: "FAILED", Signal: 9}, "28": gone("PREEMPTED"),
		"29": gone("CANCELLED by 20001"), "30": gone("CANCELLED by 20001"), "31": {How: "FAILED", Code: 1},
		"32": {How: "FAILED", Code: 4}, "34": {How: "FAILED", Code: 4},
		"37": gone("CANCELLED by 20001"), "40": gone("CANCELLED by 0"), "46": {How: "NODE_FAIL", Cause: jobfile.NodeFail},
	}
	if got := parseAccounts(recorded(t, "accounts-22.05.txt")); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	// As the manual of sacct describes others.
	accounts := "3|CANCELLED by 0|0:0\n4|FAILED|3:0\n5|NODE_FAIL|1:0\n6|RUNNING|0:0\n7|TIMEOUT|0:15\n8|OUT_OF_MEMORY|0:125\n9.batch|FAILED|1:0\n10|COMPLETED\n\n"
	want = map[string]batch.Ending{"3": {How: "CANCELLED by 0", Cause: jobfile.Preempted}, "4": {How: "FAILED", Code: 3},
		"5": {How: "NODE_FAIL", Cause: jobfile.NodeFail, Code: 1},
		"7": {How: "TIMEOUT", Signal: 15}, "8": {How: "OUT_OF_MEMORY", Signal: 125}, "10": {How: "COMPLETED"}}
	if got := parseAccounts(accounts); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestNodesAreRead(t *testing.T) {
	var got []driver.Host
	unusable := 0
	for _, n := range parseNodes(recorded(t, "nodes-22.05.txt")) {
		got, unusable = append(got, n.Host), unusable+n.unusableProcs()
	}
	want := []driver.Host{
		{Name: "n1", Procs: 2, Memory: 2000 << 20, State: "ALLOCATED", Partitions: []string{"batch"}},
		{Name: "n2", Procs: 2, Memory: 2000 << 20, State: "ALLOCATED", Partitions: []string{"batch"}},
		{Name: "n3", Procs: 2, Free: 1, Memory: 2000 << 20, State: "MIXED", Partitions: []string{"batch"}},
		{Name: "n4", Procs: 2, Memory: 2000 << 20, State: "DOWN+NOT_RESPONDING", Down: true, Partitions: []string{"batch"}},
		{Name: "n5", Procs: 2, Memory: 2000 << 20, State: "MIXED+DRAIN", Down: true, Partitions: []string{"batch"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if unusable != 3 { // both of n4, and of n5, which is being drained, the one that no job holds
		t.Errorf("%d processors are unusable", unusable)
	}
	// An old one.
	old := "NodeName=tux0 Arch=x86_64 CoresPerSocket=1 CPUAlloc=1 CPUErr=0 CPUTot=8 CPULoad=0.00 Features=ib,gpu " +
		"Gres=(null) NodeAddr=tux0 State=IDLE*"
	if got := parseNodes(old); len(got) != 1 || !got[0].Down || got[0].Procs != 8 ||
		!slices.Equal(got[0].Features, []string{"ib", "gpu"}) {
		t.Errorf("%+v", got)
	}
}

func TestPartitionsAreRead(t *testing.T) {
	text := "batch*|n/a|infinite\nlong|1:00:00|2-03:00:00\nlong|1:00:00|2-03:00:00\nshort|n/a|30:00\n"
	got := parsePartitions(text)
	want := []partition{{name: "batch", usual: true}, {name: "long", time: time.Hour, most: 51 * time.Hour},
		{name: "short", time: 30 * time.Minute, most: 30 * time.Minute}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	for names, want := range map[string][2]time.Duration{"": {}, "long": {time.Hour, 51 * time.Hour},
		"long,short":  {30 * time.Minute, 51 * time.Hour},
		"short,batch": {30 * time.Minute, 0}, "nowhere": {}} {
		m := New(Options{Partition: names})
		scripted(t, m, map[string]answer{"sinfo": {out: text}})
		if usual, most := m.TimeLimits(t.Context()); usual != want[0] || most != want[1] {
			t.Errorf("%s: %v, %v", names, usual, most)
		}
	}
}

func TestLimitsAreRead(t *testing.T) {
	for text, want := range map[string]time.Duration{"5": 5 * time.Minute, "30:00": 30 * time.Minute, "1:00:00": time.Hour,
		"1-0":  24 * time.Hour,
		"2-03": 51 * time.Hour, "1-01:30": 25*time.Hour + 30*time.Minute, "1-00:00:01": 24*time.Hour + time.Second,
		"infinite": 0, "UNLIMITED": 0, "": 0, "x-1": 0, "1:2:3:4": 0, "-1": 0} {
		if got := parseLimit(text); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

func TestForetoldStartsAreRead(t *testing.T) {
	for _, c := range []struct {
		said, at, where string
	}{
		{"sbatch: Job 8 to start at 2026-12-16T04:53:40 using 1 processors on nodes n3 in partition batch\n",
			"2026-12-16T04:53:40", "n3"},
		{"sbatch: Job 9 to start at 2026-12-16T04:53:40 using 6 processors on nodes n[1-3] in partition batch\n",
			"2026-12-16T04:53:40", "n[1-3]"},
		// an old one
		{"sbatch: Job 21819 to start at 2017-07-03T13:57:41 using 16 processors on cn12\n", "2017-07-03T13:57:41", "cn12"},
		{"allocation failure: Requested node configuration is not available", "", ""},
		{"to start at ", "", ""},
		{"to start at Unknown", "", ""},
	} {
		at, where, ok := parseTest(c.said)
		if ok != (c.at != "") || ok && (at.Format("2006-01-02T15:04:05") != c.at || where != c.where) {
			t.Errorf("%q: %v, %q, %v", c.said, at, where, ok)
		}
	}
}

func TestSubmissionsAreRead(t *testing.T) {
	for out, want := range map[string]string{"17\n": "17", "17;leeds\n": "17", "some words of the site\n17\n": "17",
		"": "", "Submitted batch job x": "", "-1\n": ""} {
		if got, err := parseSubmitted(out); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", out, got, err)
		}
	}
}

func TestVersionsAreRead(t *testing.T) {
	for out, want := range map[string]string{"slurm-wlm 22.05.8\n": "Slurm 22.05.8", "slurm 17.11.2": "Slurm 17.11.2",
		"": "Slurm", "nonsense here": "Slurm"} {
		if got := parseVersion(out); got != want {
			t.Errorf("%q: %q", out, got)
		}
	}
}

// What Slurm says, mostly as recorded, and what that means.
func TestComplaintsAreJudged(t *testing.T) {
	for _, c := range []struct {
		said string
		is   error // nil: neither
		want string
	}{
		{"sbatch: error: invalid partition specified: nope\nsbatch: error: Batch job submission failed: Invalid partition " +
			"name specified", driver.ErrRefused,
			"invalid partition specified: nope; Invalid partition name specified"},
		{"sbatch: error: Memory specification can not be satisfied\nsbatch: error: Batch job submission failed: Requested " +
			"node configuration is not available", driver.ErrRefused,
			"Memory specification can not be satisfied; Requested node configuration is not available"},
		{"allocation failure: Requested node configuration is not available", driver.ErrRefused,
			"Requested node configuration is not available"},
		{"sbatch: unrecognized option '--nonsense'\nTry \"sbatch --help\" for more information", driver.ErrRefused,
			"unrecognized option"},
		{"sbatch: error: Invalid --time specification", driver.ErrRefused, "Invalid --time specification"},
		{"sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)",
			driver.ErrRefused, "Requested time limit is invalid"},
		{"sbatch: error: Batch job submission failed: Access/permission denied", driver.ErrRefused,
			"Access/permission denied"},
		{"sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)", driver.ErrAway,
			"Unable to contact slurm controller (connect failure)"},
		{"slurm_load_jobs error: Unable to contact slurm controller (connect failure)", driver.ErrAway, "connect failure"},
		{"sbatch: error: Batch job submission failed: Protocol authentication error", driver.ErrAway,
			"Protocol authentication error"},
		{"sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: Job violates " +
			"accounting/QOS policy (job submit limit, user's size and/or time limits)",
			driver.ErrAway, "QOSMaxSubmitJobPerUserLimit"},
		{"sbatch: error: Invalid user for SlurmUser root, ignored\nsbatch: fatal: Unable to process configuration file",
			driver.ErrAway, "Unable to process configuration file"},
		{"sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", nil, "Socket timed out"},
		{"sbatch: error: Batch job submission failed: Unexpected message received", nil, "Unexpected message"},
		{"sbatch: error: slurm_receive_msg: Zero Bytes were transmitted or received\nsbatch: error: Batch job submission " +
			"failed: Unable to contact slurm controller (connect failure)", nil, "Zero Bytes"},
		{"sbatch: error: something that nobody has seen", nil, "something that nobody has seen"},
		{"", nil, "exit"},
	} {
		err := classifyError(answer{said: c.said}, errors.New("exit"))
		for _, kind := range []error{driver.ErrRefused, driver.ErrAway} {
			if errors.Is(err, kind) != (c.is == kind) { //nolint:errorlint // it is one of the two
				t.Errorf("%q: %v", c.said, err)
			}
		}
		if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") ||
			strings.Contains(err.Error(), "sbatch: ") {
			t.Errorf("%q: %v", c.said, err)
		}
	}
	if err := classifyError(answer{said: "Invalid"}, context.Canceled); errors.Is(err, driver.ErrRefused) {
		t.Error(err)
	}
}

func TestOnlyJobsThatAreOverAreNoErrorOfCancel(t *testing.T) {
	for said, want := range map[string]bool{
		"scancel: error: Kill job error on job id 1: Invalid job id specified\n":                                 true,
		"scancel: error: Kill job error on job id 1: Job/step already completing or completed\n":                 true,
		"scancel: error: Kill job error on job id 1: Unable to contact slurm controller (connect failure)\n":     false,
		"scancel: error: Invalid job id 1\nscancel: error: Kill job error on job id 2: Access/permission denied": false,
		"": false,
	} {
		if got := onlyFinishedJobs(said); got != want {
			t.Errorf("%q: %v", said, got)
		}
	}
}

func TestCommandsGetAnEnvironmentOfTheirOwn(t *testing.T) {
	for _, name := range []string{"SQUEUE_FORMAT", "SQUEUE_STATES", "SBATCH_PARTITION", "SLURM_CLUSTERS",
		"SLURM_TIME_FORMAT", "SACCT_FORMAT", "SLURM_JOB_ID", "LC_TIME", "LANG"} {
		t.Setenv(name, "meddling")
	}
	t.Setenv("SLURM_CONF", "/around")
	t.Setenv("KEPT", "yes")
	env := commandEnvironment(map[string]string{"PATH": "/mine", "SLURM_CLUSTERS": "leeds"})
	if strings.Contains(strings.Join(env, "\n"), "meddling") {
		t.Errorf("%q", env)
	}
	for name, want := range map[string]string{"SLURM_CONF": "/around", "KEPT": "yes", "PATH": "/mine",
		"SLURM_CLUSTERS": "leeds", "LC_ALL": "C"} {
		if got := valueOf(env, name); got != want {
			t.Errorf("%s=%s, want %s", name, got, want)
		}
	}
	if got := valueOf(commandEnvironment(map[string]string{"SLURM_CONF": "/mine"}), "SLURM_CONF"); got != "/mine" {
		t.Error(got)
	}
}

// scripted answers commands from a table.
func scripted(t *testing.T, m *Manager, answers map[string]answer) *[]string {
	var asked []string
	m.run = func(_ context.Context, c command) (answer, error) {
		line := c.name + " " + strings.Join(c.args, " ")
		asked = append(asked, line)
		for begins, a := range answers {
			if strings.HasPrefix(line, begins) {
				if a.said != "" {
					return a, errors.New("exit status 1")
				}
				return a, nil
			}
		}
		t.Errorf("unexpected: %s", line)
		return answer{}, errors.New("unexpected")
	}
	return &asked
}

func TestAnOldSqueueIsAskedInItsOwnWay(t *testing.T) {
	m := New(Options{})
	asked := scripted(t, m, map[string]answer{
		"squeue --me":    {said: "squeue: unrecognized option '--me'\nTry \"squeue --help\" for more information"},
		"squeue --user=": {out: "7|RUNNING|2026-11-15T10:05:40|n1|None|gw-1\n"},
	})
	for range 2 {
		if got, err := m.ListQueue(t.Context(), "gw-"); err != nil || len(got) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if len(*asked) != 3 {
		t.Errorf("%q", *asked)
	}
}

func TestEndingsComeFromAccountingAndElseFromTheController(t *testing.T) {
	m := New(Options{})
	asked := scripted(t, m, map[string]answer{
		"sacct":                           {said: "Slurm accounting storage is disabled"},
		"scontrol --oneliner show job 13": {out: recorded(t, "jobs-22.05.txt")},
		"scontrol --oneliner show job 99": {said: "slurm_load_jobs error: Invalid job id specified"},
	})
	for range 2 {
		got, err := m.JobEndings(t.Context(), []string{"13", "99", "nonsense"})
		if err != nil || len(got) != 1 || got["13"].How != "COMPLETED" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if n := strings.Count(strings.Join(*asked, "\n"), "sacct"); n != 1 {
		t.Errorf("accounting was asked %d times", n)
	}
	m = New(Options{})
	scripted(t, m, map[string]answer{"sacct": {out: "13|CANCELLED by 0|0:0\n"},
		"scontrol --oneliner show job 14": {said: "slurm_load_jobs error: Unable to contact slurm controller (connect " +
			"failure)"}})
	if got, err := m.JobEndings(t.Context(), []string{"13"}); err != nil || got["13"].How != "CANCELLED by 0" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := m.JobEndings(t.Context(), []string{"13", "14"}); !errors.Is(err, driver.ErrAway) {
		t.Errorf("%v", err)
	}
	var many []string
	for range 20 {
		many = append(many, "13")
	}
	if q := scontrolQueries(many); len(q) != 1 {
		t.Errorf("%d questions for 20 jobs", len(q))
	}
}

func TestWhatIsAskedOfSbatch(t *testing.T) {
	m := New(Options{Partition: "long", Options: []string{"--qos=short"}})
	asked := scripted(t, m, map[string]answer{"sbatch": {out: "17\n"}})
	id, err := m.SubmitJob(t.Context(), &batch.Request{Name: "gw-1", Script: "/d/script", Output: "/d/100%/out",
		Need: driver.Need{Procs: 3, Nodes: 1, Memory: 1<<30 + 1, Time: 61 * time.Second}})
	want := "sbatch --parsable --no-requeue --export=NONE -D / --input=/dev/null --open-mode=append " +
		"--output=/d/100%%/out --job-name=gw-1 --ntasks=3 " +
		"--cpus-per-task=1 --nodes=1 --mem=1025M --time=2 --partition=long --qos=short /d/script"
	if err != nil || id != "17" || (*asked)[0] != want {
		t.Errorf("%q, %v\n%s\n%s", id, err, (*asked)[0], want)
	}
}

func TestAWaitWithoutEndIsAYear(t *testing.T) {
	m := New(Options{})
	scripted(t, m, map[string]answer{"sbatch --test-only": {out: "sbatch: Job 8 to start at 7470-12-16T04:53:40 using 1 " +
		"processors on nodes n3 in partition batch\n"}})
	if got, err := m.EstimateWait(t.Context(), driver.Need{Procs: 1}); err != nil || !got.Known || got.Seconds != year {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestACommandThatHangsIsEnded(t *testing.T) {
	c := commands{dir: "/bin", env: os.Environ()}
	if _, err := c.runCommand(t.Context(),
		command{name: "sleep", args: []string{"60"}, limit: 20 * time.Millisecond}); !errors.Is(err, driver.ErrAway) {
		t.Errorf("a question: %v", err)
	}
	if _, err := c.runCommand(t.Context(),
		command{name: "sleep", args: []string{"60"}, limit: 20 * time.Millisecond, submits: true}); err == nil ||
		errors.Is(err, driver.ErrAway) {
		t.Errorf("a submission: %v", err)
	}
	if _, err := c.runCommand(t.Context(), command{name: "not-there", limit: time.Minute, submits: true}); !errors.Is(err,
		driver.ErrAway) {
		t.Errorf("nothing to run: %v", err)
	}
	if _, err := (commands{env: []string{"PATH=/nowhere"}}).runCommand(t.Context(),
		command{name: "sbatch", limit: time.Minute}); !errors.Is(err, driver.ErrAway) {
		t.Errorf("nothing to be found: %v", err)
	}
}

func FuzzQueue(f *testing.F) {
	f.Add(recorded(f, "queue-22.05.txt"), "gw-")
	f.Fuzz(func(t *testing.T, out, prefix string) {
		for _, e := range parseQueue(out, prefix) {
			if e.ID == "" || len(e.Hosts) > hostlist.MaxHosts || e.State < batch.Pending || e.State > batch.Leaving {
				t.Errorf("%+v", e)
			}
		}
	})
}

func FuzzNodes(f *testing.F) {
	f.Add(recorded(f, "nodes-22.05.txt"))
	f.Fuzz(func(t *testing.T, out string) {
		for _, h := range parseNodes(out) {
			if h.Name == "" || h.Procs < 0 || h.Free < 0 || h.Free > h.Procs || h.Memory < 0 || h.unusableProcs() < 0 ||
				h.unusableProcs() > h.Procs {
				t.Errorf("%+v", h)
			}
		}
	})
}

func FuzzEndings(f *testing.F) {
	f.Add(recorded(f, "jobs-22.05.txt"))
	f.Add(recorded(f, "accounts-22.05.txt"))
	f.Fuzz(func(t *testing.T, out string) {
		for _, list := range []map[string]batch.Ending{parseJobs(out), parseAccounts(out)} {
			for id, e := range list {
				if !isNumber(id) || !isOver(strings.Split(e.How, ",")[0]) {
					t.Errorf("%s: %+v", id, e)
				}
			}
		}
	})
}

func FuzzSmallAnswers(f *testing.F) {
	for _, s := range []string{"17;leeds\n", "batch*|1:00|infinite\n", "2-03:00:00",
		"sbatch: Job 8 to start at 2026-12-16T04:53:40 using 1 processors on nodes n3", "slurm 17.11.2",
		"sbatch: error: Batch job submission failed: Invalid partition name specified"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := parseSubmitted(s); err == nil && !isNumber(id) {
			t.Errorf("%q", id)
		}
		if d := parseLimit(s); d < 0 {
			t.Errorf("%v", d)
		}
		for _, p := range parsePartitions(s) {
			if p.name == "" {
				t.Error("a partition without a name")
			}
		}
		parseTest(s)
		parseVersion(s)
		if line := errorText(s); strings.ContainsAny(line, "\n\r") {
			t.Errorf("%q", line)
		}
	})
}
