package gridengine

import (
	"context"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
)

// stage is a manager whose commands are scripts that a test writes, and whose
// time is the test's.
type stage struct {
	*Manager
	t    *testing.T
	dir  string
	time time.Time
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, dir: t.TempDir(), time: time.Unix(1_800_000_000, 0)}
	m, err := New(Options{Commands: s.dir, Env: map[string]string{"D": s.dir, "SGE_ROOT": s.dir},
		Clock: func() time.Time { return s.time }})
	if err != nil {
		t.Fatal(err)
	}
	s.Manager = m
	return s
}

// play writes a command; what it is called with is noted.
func (s *stage) play(name, script string) {
	s.t.Helper()
	text := "#!/bin/sh\necho " + name + ` "$@" >> "$D/calls"` + "\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o700); err != nil { // it is executed
		s.t.Fatal(err)
	}
}

// file writes a file that commands print.
func (s *stage) file(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// calls are what commands were called with since it was asked last.
func (s *stage) calls() []string {
	path := filepath.Join(s.dir, "calls")
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	_ = os.Remove(path)
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func (s *stage) queue() []string {
	s.t.Helper()
	list, err := s.ListQueue(s.t.Context(), "gw-")
	if err != nil {
		s.t.Fatal(err)
	}
	var ids []string
	for _, e := range list {
		ids = append(ids, e.ID)
	}
	return ids
}

func (s *stage) list(jobs ...string) {
	s.t.Helper()
	me, err := user.Current()
	if err != nil {
		s.t.Fatal(err)
	}
	text := "<job_info><queue_info>"
	for _, j := range jobs {
		f := strings.Fields(j)
		text += "<job_list><JB_job_number>" + f[0] + "</JB_job_number><JB_name>gw-" + f[0] + "</JB_name><JB_owner>" +
			me.Username + "</JB_owner><state>" +
			f[1] + "</state><queue_name>" + f[2] + "</queue_name></job_list>"
	}
	s.file("queue.xml", text+"</queue_info><job_info></job_info></job_info>")
}

func TestJobsOnAHostThatDiedCountAsGone(t *testing.T) {
	s := newStage(t)
	s.play("qstat", `cat "$D/queue.xml"`)
	s.play("qhost", `cat "$D/hosts.xml"`)
	hosts := func(load string) {
		s.file("hosts.xml", "<qhost><host name='global'><hostvalue name='load_avg'>-</hostvalue></host><host "+
			"name='n1'><hostvalue name='load_avg'>"+
			load+"</hostvalue></host><host name='n2'><hostvalue name='load_avg'>0.1</hostvalue></host></qhost>")
	}
	s.list("1 r all.q@n1", "2 r all.q@n2", "3 qw -")
	hosts("0.5")
	both := []string{"1", "2", "3"}
	if got := s.queue(); !slices.Equal(got, both) {
		t.Error(got)
	}
	hosts("-")
	for range 5 { // perhaps only the qmaster has just started
		s.time = s.time.Add(hostsInterval)
		if got := s.queue(); !slices.Equal(got, both) {
			t.Error(got)
		}
	}
	s.time = s.time.Add(silenceTimeout)
	if got := s.queue(); !slices.Equal(got, []string{"2", "3"}) {
		t.Error(got)
	}
	ends, err := s.JobEndings(t.Context(), []string{"1"})
	if err != nil || ends["1"].How != "its host n1 does not answer" {
		t.Error(ends, err)
	}
	hosts("0.5") // it is back, and so is the job
	s.time = s.time.Add(2 * hostsInterval)
	if got := s.queue(); !slices.Equal(got, both) {
		t.Error(got)
	}
}

func TestWhatIsNotWrittenDownYetIsWaitedForButNotForLong(t *testing.T) {
	s := newStage(t)
	s.play("qstat", `cat "$D/queue.xml"`)
	s.play("qconf", "echo reporting_params accounting=true flush_time=00:00:15")
	s.play("qacct", "echo error: job id $2 not found >&2; exit 1")
	s.play("qhost", "exit 1")
	s.list("1 r all.q@n1", "2 qw -", "3 r all.q@n1")
	s.queue()
	if ends, err := s.JobEndings(t.Context(), []string{"1", "2"}); err == nil ||
		ends["2"].How != "it was deleted before it began" {
		t.Error(ends, err)
	}
	s.time = s.time.Add(10 * time.Second)
	if _, err := s.JobEndings(t.Context(), []string{"1", "2"}); err == nil {
		t.Error("not waited for")
	}
	common := filepath.Join(s.dir, "default", "common")
	if err := os.MkdirAll(common, 0o700); err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	line := "all.q:n1:g:" + me.Username + ":gw-1:1:sge:0:1:2:3:100:137:7:\nall.q:n1:g:somebody:gw-3:3:sge:0:1:2:3:0:0:7:\n"
	if err := os.WriteFile(filepath.Join(common, "accounting"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	ends, err := s.JobEndings(t.Context(), []string{"1", "2"})
	if err != nil || ends["1"].Signal != 9 {
		t.Error(ends, err)
	}
	s.time = s.time.Add(10 * time.Second)
	ends, err = s.JobEndings(t.Context(), []string{"1", "3"}) // of a number that was another's before
	if err != nil || len(ends) != 1 {
		t.Error(ends, err)
	}
}

func TestADeletionIsForcedOnlyIfTheHostIsGone(t *testing.T) {
	s := newStage(t)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	s.play("qdel", `case "$1" in -f) ;; *) echo "job 7 is already in deletion"; echo 'denied: job "8" does not exist' >&2; exit 1 ;; esac`)
	full := func(state string) {
		s.file("full.xml", "<job_info><queue_info><Queue-List><name>all.q@n1</name><state>"+state+
			"</state><job_list><JB_job_number>7</JB_job_number><JB_owner>"+
			me.Username+"</JB_owner><state>dr</state></job_list></Queue-List></queue_info></job_info>")
	}
	s.play("qstat", `cat "$D/full.xml"`)
	cancel := func() []string {
		t.Helper()
		if err := s.CancelJobs(t.Context(), []string{"7", "8", "-f", "*", ""}); err != nil {
			t.Error(err)
		}
		return s.calls()
	}
	full("")
	if got := cancel(); !slices.Equal(got, []string{"qdel 7,8"}) {
		t.Errorf("%q", got)
	}
	s.time = s.time.Add(forceAfter + time.Second)
	if got := cancel(); slices.Contains(got, "qdel -f 7") {
		t.Errorf("%q", got)
	}
	full("au")
	if got := cancel(); !slices.Contains(got, "qdel -f 7") {
		t.Errorf("%q", got)
	}
	if err := s.CancelJobs(t.Context(), nil); err != nil || s.calls() != nil {
		t.Error(err)
	}
}

func TestCommandsThatFailAreToldApart(t *testing.T) {
	s := newStage(t)
	r := &batch.Request{Name: "gw-1", Script: "/s", Output: "/d/o", Need: driver.Need{Procs: 1}}
	if _, err := s.SubmitJob(t.Context(), r); !errors.Is(err, driver.ErrAway) ||
		!strings.Contains(err.Error(), "the setting commands") {
		t.Error("no command:", err)
	}
	s.play("qsub", "echo warning; echo 12")
	if id, err := s.SubmitJob(t.Context(), r); err == nil || errors.Is(err, driver.ErrAway) ||
		errors.Is(err, driver.ErrRefused) {
		t.Error("not a number:", id, err)
	}
	s.play("qsub", "echo 12; test -z \"$TZ$LANG\" -a \"$LC_ALL\" = C -a $PWD = / || exit 1")
	t.Setenv("LANG", "de_DE")
	t.Setenv("TZ", "Asia/Tokyo")
	if id, err := s.SubmitJob(t.Context(), r); err != nil || id != "12" {
		t.Error(id, err)
	}
	s.play("qsub", "exec sleep 100")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := s.SubmitJob(ctx, r); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, driver.ErrAway) {
		t.Error("no answer:", err)
	}
	s.play("qstat", "echo '<html>'")
	if _, err := s.ListQueue(t.Context(), "gw-"); err == nil {
		t.Error("nonsense is taken for a queue")
	}
	if _, err := s.SurveyHosts(t.Context()); err == nil {
		t.Error("nonsense is taken for hosts")
	}
}
