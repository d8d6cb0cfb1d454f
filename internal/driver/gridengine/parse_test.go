package gridengine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

// recorded is what a real Grid Engine 8.1.9 printed.
func recorded(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestTheQueueIsReadWithFullNamesEachJobOnce(t *testing.T) {
	s, err := parseStatus(recorded(t, "queue.xml"))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 11, 15, 10, 7, 44, 0, time.UTC)
	list, failed := queueEntries(s, "alice", "gw-1a2b3c4d-")
	want := []batch.Entry{
		{ID: "35", Name: "gw-1a2b3c4d-7.1", State: batch.Running, Hosts: []string{"localhost"}, Start: start},
		{ID: "36", Name: "gw-1a2b3c4d-8.1", State: batch.Leaving, Hosts: []string{"localhost"}, Start: start},
		{ID: "39", Name: "gw-1a2b3c4d-9.1", State: batch.Pending},
	}
	if diff := cmp.Diff(want, list); diff != "" || !slices.Equal(failed, []string{"40"}) {
		t.Errorf("failed %v\n%s", failed, diff)
	}
	if list, failed := queueEntries(s, "bob", "gw-"); len(list)+len(failed) > 0 {
		t.Errorf("bob has %v %v", list, failed)
	}
}

func TestAJobOfSeveralHostsIsOneJob(t *testing.T) {
	s, err := parseStatus([]byte(`<job_info><queue_info>
<job_list state="running"><JB_job_number>3</JB_job_number><JB_name>a-1</JB_name><JB_owner>u</JB_owner><state>r</state><queue_name>all.q@n1</queue_name></job_list>
<job_list state="running"><JB_job_number>3</JB_job_number><JB_name>a-1</JB_name><JB_owner>u</JB_owner><state>r</state><queue_name>all.q@n2</queue_name></job_list>
<job_list state="running"><JB_job_number>3</JB_job_number><JB_name>a-1</JB_name><JB_owner>u</JB_owner><state>r</state><queue_name>all.q@n2</queue_name><master>MASTER</master></job_list>
</queue_info></job_info>`))
	if err != nil {
		t.Fatal(err)
	}
	list, _ := queueEntries(s, "u", "a-")
	if len(list) != 1 || !slices.Equal(list[0].Hosts, []string{"n2", "n1"}) {
		t.Errorf("%+v", list)
	}
}

func TestStatesAreTold(t *testing.T) {
	for text, want := range map[string]batch.State{
		"qw": batch.Pending, "hqw": batch.Pending, "hRwq": batch.Pending, "r": batch.Running, "t": batch.Running,
		"Rr": batch.Running, "s": batch.Running,
		"ts": batch.Running, "S": batch.Running, "tS": batch.Running, "T": batch.Running, "dr": batch.Leaving,
		"dt": batch.Leaving, "dRr": batch.Leaving, "ds": batch.Leaving,
	} {
		if got, failed := stateOf(text); got != want || failed {
			t.Errorf("%s: %v %v", text, got, failed)
		}
	}
	for _, text := range []string{"Eqw", "Ehqw", "EhRqw"} {
		if _, failed := stateOf(text); !failed {
			t.Errorf("%s is no error", text)
		}
	}
}

func TestWhyAJobCouldNotBeStartedIsFound(t *testing.T) {
	if got, want := errorReason(recorded(t, "error.txt")),
		"can't chdir to /nosuch/dir: No such file or directory"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := errorReason(nil); got == "" {
		t.Error("nothing is said")
	}
}

func TestWhyJobsWaitIsFound(t *testing.T) {
	want := map[string]string{"39": "Job is in hold state", "40": "Job is in error state"}
	if diff := cmp.Diff(want, schedulingInfo(recorded(t, "jobs.txt"))); diff != "" {
		t.Error(diff)
	}
	text := "job_number:  31\nscheduling info:            queue instance \"all.q@h\" dropped because it is full\n" +
		"                            All queues dropped because of overload or full\n=====\njob_number: 7\nowner: x\n  y\n" +
		"scheduling info:   (Collecting of scheduler job information is turned off)\n"
	want = map[string]string{"31": `queue instance "all.q@h" dropped because it is full; All queues dropped because of overload or full`}
	if diff := cmp.Diff(want, schedulingInfo([]byte(text))); diff != "" {
		t.Error(diff)
	}
}

func TestTheAccountingFileTellsHowJobsEnded(t *testing.T) {
	data := recorded(t, "accounting")
	wanted := map[string]bool{"1": true, "9": true, "17": true, "18": true, "99": true}
	found, err := lastRecords(bytes.NewReader(data), int64(len(data)), wanted)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]batch.Ending{}
	for id, r := range found {
		if r.Owner != "alice" {
			t.Errorf("%+v", r)
		}
		got[id] = r.toEnding()
	}
	want := map[string]batch.Ending{
		"1":  {How: "exit status 0"},
		"9":  {How: "failed 28 on localhost: changing into working directory"},
		"17": {How: "failed 37 on localhost: time limit h_rt=3 reached", Code: 137, Signal: 9},
		"18": {How: "failed 100 on localhost: killed, as by qdel", Cause: jobfile.Preempted, Code: 137, Signal: 9},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for failed, cause := range map[int]string{0: "", 21: jobfile.NodeFail, 25: jobfile.Preempted, 26: "", 37: ""} {
		if got := (record{Failed: failed}).toEnding(); got.Cause != cause {
			t.Errorf("failed %d: %+v", failed, got)
		}
	}
}

func TestTheNewestRecordOfANumberCountsHoweverLongTheFile(t *testing.T) {
	line := func(job, exit int, fill string) string {
		return fmt.Sprintf("all.q:h:g:u:n:%d:sge:0:1:2:3:0:%d:1:%s\n", job, exit, fill)
	}
	var file strings.Builder
	file.WriteString("# Version: 8.1.9\n" + line(7, 1, "") + line(8, 4, ""))
	for i := range 6000 {
		file.WriteString(line(100_000+i, 0, strings.Repeat("x", i%200)))
	}
	file.WriteString(line(7, 2, "") + line(9, 5, ""))
	text := file.String() + strings.TrimSuffix(line(9, 6, ""), "\n") // being written
	found, err := lastRecords(strings.NewReader(text), int64(len(text)),
		map[string]bool{"7": true, "8": true, "9": true, "100123": true, "5": true})
	if err != nil || found["7"].Exit != 2 || found["8"].Exit != 4 || found["9"].Exit != 6 ||
		found["100123"].Job != "100123" || len(found) != 4 {
		t.Errorf("%v %+v", err, found)
	}
	if found, err := lastRecords(strings.NewReader(""), 0, map[string]bool{"7": true}); err != nil || len(found) > 0 {
		t.Errorf("%v %v", found, err)
	}
}

func TestQacctIsReadWhereTheFileCannotBe(t *testing.T) {
	r, ok := parseQacct(recorded(t, "qacct.txt"))
	want := record{Host: "localhost", Owner: "alice", Job: "17", Failed: 37, Exit: 137, Wall: 3, Limit: 3}
	if diff := cmp.Diff(want, r); diff != "" || !ok {
		t.Error(ok, diff)
	}
	if r, ok := parseQacct([]byte("error: job id 99 not found\n")); ok {
		t.Errorf("%+v", r)
	}
}

func TestHostsAreQueuesAndMachinesTogether(t *testing.T) {
	s, err := parseStatus(recorded(t, "full.xml"))
	if err != nil {
		t.Fatal(err)
	}
	machines, err := parseHosts(recorded(t, "hosts.xml"))
	if err != nil {
		t.Fatal(err)
	}
	want := []driver.Host{{Name: "localhost", Memory: 25232932864, Down: true, State: "all.q: d"}}
	if diff := cmp.Diff(want, hostsOf(s, machines, "")); diff != "" {
		t.Error(diff)
	}
	s.Instances[0].State = ""
	want = []driver.Host{{Name: "localhost", Memory: 25232932864, Procs: 4, Free: 1, Partitions: []string{"all.q"}}}
	for _, queue := range []string{"", "all.q", "all.q@localhost"} {
		if diff := cmp.Diff(want, hostsOf(s, machines, queue)); diff != "" {
			t.Error(queue, diff)
		}
	}
	for _, queue := range []string{"other.q", "all.q@n2"} {
		if hosts := hostsOf(s, machines, queue); len(hosts) > 0 {
			t.Errorf("%s: %+v", queue, hosts)
		}
	}
}

func TestWhoHoldsSlotsIsRead(t *testing.T) {
	const ours, theirs = "gw-1a2b3c4d-", "gw-00000000-"
	queue := func(name, state string, used, reserved, total int, jobs ...job) instance {
		return instance{Name: name, Type: "BP", State: state, Used: used, Reserved: reserved, Total: total, Jobs: jobs}
	}
	s := &status{Instances: []instance{
		queue("all.q@n1", "", 4, 0, 4, job{Name: ours + "1.1", Slots: 2}, job{Name: "by hand", Slots: 2}),
		queue("all.q@n2", "", 3, 1, 8, job{Name: "x", FullName: theirs + "1.1", Slots: 1}, job{Name: ours + "1.1", Slots: 2}),
		queue("all.q@n3", "a", 1, 0, 4, job{Name: ours + "2.1", Slots: 1}), // takes no jobs just now
		queue("all.q@n4", "d", 4, 0, 4, job{Name: ours + "3.1", Slots: 4}), // does not count at all
		queue("other.q@n1", "", 4, 0, 4, job{Name: ours + "4.1", Slots: 4}),
	}}
	hosts := hostsOf(s, nil, "all.q")
	want := driver.Held{ours: 5, theirs: 1, "": 2 + 1 + 3}
	if diff := cmp.Diff(want, heldSlots(s, hosts, "all.q")); diff != "" {
		t.Error(diff)
	}
	// More than there are cannot be held, whatever is said.
	s.Instances[0].Jobs[0].Slots = 1000
	total := 0
	for _, n := range heldSlots(s, hosts, "all.q") {
		total += n
	}
	if total != 12 {
		t.Errorf("%d slots are held", total)
	}
}

func TestQueuesOfOneHostShareItsProcessors(t *testing.T) {
	queue := func(name, state string, used, total int) instance {
		return instance{Name: name, Type: "BIP", Used: used, Total: total, State: state}
	}
	for _, c := range []struct {
		queues      []instance
		procs, free int
		down        bool
	}{
		{[]instance{queue("a@h", "", 1, 4), queue("b@h", "", 1, 4)}, 4, 2, false},    // the host has 4
		{[]instance{queue("a@h", "", 1, 16), queue("b@h", "", 0, 2)}, 16, 15, false}, // more slots than processors are meant
		{[]instance{queue("a@h", "au", 1, 4), queue("b@h", "", 1, 2)}, 2, 1, false},
		{[]instance{queue("a@h", "au", 1, 4), queue("b@h", "E", 0, 2)}, 0, 0, true},
		{[]instance{queue("a@h", "a", 1, 4)}, 4, 0, false}, // too busy just now
		{[]instance{{Name: "a@h", Type: "I", Total: 4}, queue("b@h", "", 0, 1)}, 1, 1, false},
	} {
		m := machine{Name: "h"}
		m.Values = append(m.Values, struct {
			Name string `xml:"name,attr"`
			Text string `xml:",chardata"`
		}{"num_proc", "4"})
		got := hostsOf(&status{Instances: c.queues}, []machine{m}, "")
		if len(got) != 1 || got[0].Procs != c.procs || got[0].Free != c.free || got[0].Down != c.down {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestSizesAndVersionsAndRulesAreRead(t *testing.T) {
	for text, want := range map[string]int64{"23.5G": 25232932864, "578.5M": 606601216, "512": 512, "0.0": 0, "-": 0,
		"": 0, "NaN": 0, "1e300P": 0, "-3G": 0, "1K": 1024} {
		if got := parseSize(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]string{"SGE 8.1.9\nusage: qstat": "Grid Engine 8.1.9", "": "Grid Engine",
		"error: x": "Grid Engine", "UGE 8.6.4\n": "Grid Engine 8.6.4"} {
		if got := versionFromHelp([]byte(text)); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := allocationRule(recorded(t, "pe.txt")); got != "$fill_up" {
		t.Errorf("%q", got)
	}
	for text, want := range map[string]time.Duration{
		string(recorded(t, "conf.txt")):                                           0,
		"reporting_params accounting=true \\\n  flush_time=00:00:05 joblog=false": 5 * time.Second,
		"reporting_params accounting=true flush_time=0:1:0":                       time.Minute,
		"reporting_params flush_time=x":                                           15 * time.Second,
		"":                                                                        15 * time.Second,
	} {
		if got := parseFlushTime([]byte(text)); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

func TestWhatQsubIsAskedFor(t *testing.T) {
	m, err := New(Options{Queue: "all.q", PE: "smp", Options: []string{"-P", "physics"}})
	if err != nil {
		t.Fatal(err)
	}
	r := &batch.Request{Name: "gw-1-2.3", Script: "/d/a b/script", Output: "/d/a b/manager.out",
		Need: driver.Need{Procs: 3, Time: 90*time.Second + 1, Memory: 1<<20 + 1}}
	got, err := m.qsubArguments(r)
	want := []string{"-terse", "-clear", "-C", "", "-b", "n", "-N", "gw-1-2.3", "-wd", "/d/a b", "-o", "manager.out", "-j",
		"y", "-S", "/bin/sh",
		"-r", "n", "-w", "e", "-q", "all.q", "-pe", "smp", "3", "-l", "h_rt=91", "-l", "mem_total=1025K", "-P", "physics",
		"/d/a b/script"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	r.Output = "/d/$HOME/manager.out"
	if got, err := m.qsubArguments(r); err != nil || !slices.Contains(got, "/dev/null") {
		t.Error(got, err)
	}
	m.opt.PE = ""
	if _, err := m.qsubArguments(r); !errors.Is(err, driver.ErrRefused) {
		t.Error(err)
	}
	for _, name := range []string{"1a", "a b", "a:b", "a/b", "-x", "", "a\nb"} {
		if _, err := m.qsubArguments(&batch.Request{Name: name, Script: "/s", Output: "/o",
			Need: driver.Need{Procs: 1}}); !errors.Is(err, driver.ErrRefused) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, o := range []Options{{Queue: "-x"}, {PE: "a b"}, {Queue: "a,b;c"}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// What qsub of Grid Engine 8.1.9 said.
func TestRefusalsAreToldFromWhatMayPass(t *testing.T) {
	for says, want := range map[string]error{
		"Unable to run job: Job was rejected because job requests unknown queue \"nosuch\"\nExiting.":             driver.ErrRefused,
		"Unable to run job: job rejected: the requested parallel environment \"nosuch\" does not exist\nExiting.": driver.ErrRefused,
		"Unable to run job: error: no suitable queues\nExiting.":                                                  driver.ErrRefused,
		"Unable to run job: unknown resource \"nosuch\"\nExiting.":                                                driver.ErrRefused,
		"Unable to run job: denied: host \"h\" is not a submit host\nExiting.":                                    driver.ErrRefused,
		"Unable to run job: denied: \"1abc\" is not a valid object name (cannot start with a digit)\nExiting.":    driver.ErrRefused,
		"qsub: invalid option argument \"--nosuch\"":                                                              driver.ErrRefused,
		"error: commlib error: got select error (Connection refused)\nUnable to run job: unable to send message to qmaster " +
			"using port 6444 on host \"h\": got send error\nExiting.": driver.ErrAway,
		"Unable to run job: job rejected: only 5 jobs are allowed per user (current job count: 5)\nExiting.": driver.ErrAway,
		"Unable to run job: Error reading answer list from qmaster\nExiting.":                                nil,
		"error: commlib error: got read error (closing \"h/qmaster/1\")\nUnable to run job: failed receiving gdi " +
			"request\nExiting.": nil,
		"error: commlib error: got read error\nerror: commlib error: got select error (Connection refused)\nUnable to run " +
			"job: got send error": nil,
		"Segmentation fault": nil,
	} {
		err := classifyError(&failure{Command: "qsub", Code: 1, Says: oneLine(says), Err: errors.New("exit status 1")})
		for _, kind := range []error{driver.ErrRefused, driver.ErrAway} {
			if errors.Is(err, kind) != (kind == want) { //nolint:errorlint // the very one
				t.Errorf("%s: %v", says, err)
			}
		}
		if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "Exiting") {
			t.Errorf("not one line: %q", err)
		}
	}
}

func TestJobsThatAreOverAreNoError(t *testing.T) {
	for says, want := range map[string]bool{
		"denied: job \"999\" does not exist\n": true,
		"denied: job \"9\" does not exist\nalice has deleted job 8\ndenied: job \"999\" does not exist\n": true,
		"alice unable to sync state with remote execd for the deletion of job \"36\"\n":                   true,
		"bob - you do not have the necessary privileges to delete the job \"5\"\n":                        false,
		"error: unable to send message to qmaster using port 6444 on host \"h\": got send error":          false,
		"": false,
	} {
		f := &failure{Command: "qdel", Code: 1, Says: oneLine(says), Lines: strings.Split(says, "\n")}
		if got := onlyFinishedJobs(f); got != want {
			t.Errorf("%q: %v", says, got)
		}
	}
}

// Of a cell that has run for years, with a job that is not in it.
func BenchmarkAccounting(b *testing.B) {
	line := strings.TrimSpace(strings.Split(string(recorded(b, "accounting")), "\n")[4])
	file := []byte(strings.Repeat(line+"\n", maxReadBack/len(line)+1000))
	wanted := map[string]bool{"999999": true}
	b.SetBytes(maxReadBack)
	for b.Loop() {
		if found, err := lastRecords(bytes.NewReader(file), int64(len(file)), wanted); err != nil || len(found) > 0 {
			b.Fatal(found, err)
		}
	}
}

func FuzzStatus(f *testing.F) {
	f.Add(recorded(f, "queue.xml"))
	f.Add(recorded(f, "full.xml"))
	f.Add(recorded(f, "hosts.xml"))
	f.Add([]byte("<job_info><job_info><job_list><JB_job_number>1</JB_job_number><JB_name>a\xff\x01]]></JB_name></job_list>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := parseStatus(data); err == nil {
			list, failed := queueEntries(s, "alice", "gw-")
			for _, e := range list {
				if !jobNumber().MatchString(e.ID) || !strings.HasPrefix(e.Name, "gw-") || slices.Contains(failed, e.ID) {
					t.Errorf("%+v", e)
				}
			}
			machines, _ := parseHosts(data)
			for _, h := range hostsOf(s, machines, "") {
				if h.Free < 0 || h.Procs < 0 || h.Free > h.Procs || h.Memory < 0 {
					t.Errorf("%+v", h)
				}
			}
			_ = countPending(s)
			for whose, n := range heldSlots(s, hostsOf(s, machines, ""), "") {
				if n < 0 || whose != "" && batch.DriverPrefix(whose) != whose {
					t.Errorf("%q holds %d", whose, n)
				}
			}
		}
		_, _ = parseHosts(data)
	})
}

func FuzzAccounting(f *testing.F) {
	f.Add(recorded(f, "accounting"))
	f.Add(recorded(f, "qacct.txt"))
	f.Fuzz(func(t *testing.T, data []byte) {
		wanted := map[string]bool{"1": true, "17": true, "18": true}
		found, err := lastRecords(bytes.NewReader(data), int64(len(data)), wanted)
		for id, r := range found {
			if !wanted[id] || r.Job != id || r.toEnding().How == "" {
				t.Errorf("%+v", r)
			}
		}
		// The simple way: all lines in order.
		last := map[string]record{}
		for line := range strings.SplitSeq(string(data), "\n") {
			if r, ok := parseRecord(line); ok && wanted[r.Job] {
				last[r.Job] = r
			}
		}
		if err == nil && !cmp.Equal(last, found,
			cmp.Comparer(func(a, b float64) bool { return a == b || a != a && b != b })) {
			t.Errorf("found %+v, there are %+v", found, last)
		}
		if r, ok := parseQacct(data); ok && (!jobNumber().MatchString(r.Job) || strings.Contains(r.toEnding().How, "\n")) {
			t.Errorf("%+v", r)
		}
	})
}

func FuzzJobs(f *testing.F) {
	f.Add(recorded(f, "jobs.txt"))
	f.Add(recorded(f, "error.txt"))
	f.Add(recorded(f, "conf.txt"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, why := range schedulingInfo(data) {
			if why == "" || strings.ContainsAny(why, "\n\x00") {
				t.Errorf("%q", why)
			}
		}
		if r := errorReason(data); strings.Contains(r, "\n") {
			t.Errorf("%q", r)
		}
		if d := parseFlushTime(data); d < 0 {
			t.Error(d)
		}
		_, _ = versionFromHelp(data), allocationRule(data)
	})
}
