package slurm_test

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/driver/batch/batchtest"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
	"github.com/godwit-hpc/godwit/internal/driver/slurm"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// All of this runs on one cluster, as an ordinary user on its head.
func TestOnARealSlurm(t *testing.T) {
	if !batchtest.IsInside() {
		t.Parallel()
		run := flag.Lookup("test.run").Value.String()
		if !strings.Contains(run, t.Name()) { // else it may name one of those below
			run = "^" + t.Name() + "$"
		}
		t.Log(onACluster(t, 2, 4, []string{"-test.run=" + run, "-test.v"}, "PreemptType=preempt/partition_prio",
			"PreemptMode=CANCEL"))
		return
	}
	limited := startLimited(t)
	t.Run("Conformance", func(t *testing.T) {
		drivertest.Run(t, func(t *testing.T) drivertest.World { return newWorld(t, slurm.Options{}, nil) })
	})
	t.Run("WhatUsersWriteArrivesVerbatim",
		func(t *testing.T) { batchtest.CheckVerbatim(t, newWorld(t, slurm.Options{}, nil)) })
	t.Run("TheClusterIsSurveyed", surveyed)
	t.Run("WhatOthersHoldIsCounted", othersCounted)
	t.Run("ARefusalIsToldInSlurmsWords", refused)
	t.Run("WhoIsNoOperatorHoldsNothing", notReserved)
	t.Run("AJobThatRunsGivesHostsBack", shrinks)
	t.Run("SlurmIsToldWhatScriptsForItSay", told)
	t.Run("WhatWouldWaitForEverIsGivenUp", hopeless)
	t.Run("ASubmissionWhoseAnswerIsLostIsNotRepeated", answerLost)
	t.Run("AJobThatAnAdministratorCancelsIsReported", cancelled)
	t.Run("AJobThatIsPreemptedIsReportedAsThat", preempted)
	t.Run("AControllerThatIsRestartedLosesNothing", restarted)
	t.Run("ATimeLimitIsKept", limited)
	t.Run("ANodeThatCountsAsDeadRunsOn", nodeFails)
}

func mustStart(t *testing.T, d driver.Driver, a *wire.Attempt) {
	t.Helper()
	if err := d.StartAttempt(t.Context(), a); err != nil {
		t.Error(err)
	}
}

func surveyed(t *testing.T) {
	w := newWorld(t, slurm.Options{}, nil)
	d := w.OpenBatch()
	s, err := d.SurveyHosts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Hosts) != 2 || s.TotalProcs() != 8 || !strings.HasPrefix(s.Manager, "Slurm 2") || len(s.Notes) != 0 ||
		s.Hosts[0].Name != "n1" || s.Hosts[0].Memory != 2000<<20 || s.Hosts[0].Partitions[0] != "batch" {
		t.Errorf("%+v", s)
	}
	if got, err := d.EstimateWait(t.Context(), driver.Need{Procs: 2, Time: time.Minute}); err != nil || !got.Known ||
		got.Seconds > 3600 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := d.EstimateWait(t.Context(), driver.Need{Procs: 100}); !errors.Is(err, driver.ErrRefused) {
		t.Errorf("got %v", err)
	}
	a := w.AttemptFor(drivertest.Stays)
	a.Procs = 4
	mustStart(t, d, a)
	w.WaitUntil("the program to begin", func() bool { return w.StartCount(a) == 1 })
	w.WaitUntil("that to be known", func() bool {
		why, err := d.ExplainWait(t.Context(), batchtest.AttemptID(a))
		return err == nil && strings.Contains(why, " runs on n") && !strings.Contains(why, ",")
	})
	nowhere, err := newWorld(t, slurm.Options{Partition: "nowhere"}, nil).OpenBatch().SurveyHosts(t.Context())
	if err != nil || len(nowhere.Notes) != 1 || nowhere.Notes[0] != "there is no partition nowhere; there are batch" {
		t.Errorf("%+v, %v", nowhere, err)
	}
}

// Jobs that were handed in by hand, around us, hold processors that we cannot have; those of another driver of ours too.
func othersCounted(t *testing.T) {
	w, o := newWorld(t, slurm.Options{}, nil), newWorld(t, slurm.Options{}, nil)
	d, other := w.OpenBatch(), o.OpenBatch()
	before := batchtest.FreshUsage(t, slurm.New(slurm.Options{}))[""]
	ours, theirs := w.AttemptFor(drivertest.Stays), o.AttemptFor(drivertest.Stays)
	ours.Procs = 2
	mustStart(t, d, ours)
	mustStart(t, other, theirs)
	hand := ask(t, "sbatch", "--parsable", "--ntasks=3", "--output=/dev/null", "--chdir=/", "--wrap=sleep 1000")
	w.WaitUntil("all of them to be counted", func() bool {
		held := batchtest.FreshUsage(t, slurm.New(slurm.Options{}))
		return held[d.JobPrefix()] == 2 && held[other.JobPrefix()] == 1 && held[""] == before+3
	})
	ask(t, "scancel", hand)
	w.WaitUntil("what was handed in by hand to count no more", func() bool {
		held := batchtest.FreshUsage(t, slurm.New(slurm.Options{}))
		return held[d.JobPrefix()] == 2 && held[other.JobPrefix()] == 1 && held[""] == before
	})
	if l, err := d.MeasureLoad(t.Context()); err != nil || l.Usage == nil || l.Usage.Procs != 8 {
		t.Errorf("%+v, %v", l.Usage, err)
	}
}

func refused(t *testing.T) {
	for _, c := range []struct {
		options slurm.Options
		memory  int64
		want    string
	}{
		{slurm.Options{Partition: "nowhere"}, 0, "Invalid partition name specified"},
		{slurm.Options{}, 1 << 40, "Requested node configuration is not available"},
		{slurm.Options{Options: []string{"--nonsense"}}, 0, "unrecognized option '--nonsense'"},
		{slurm.Options{Options: []string{"--constraint=nothing"}}, 0, "Invalid feature specification"},
	} {
		w := newWorld(t, c.options, nil)
		a := w.AttemptFor(drivertest.Ends)
		a.Spec.Memory = c.memory
		if err := w.OpenBatch().StartAttempt(t.Context(), a); !errors.Is(err, driver.ErrRefused) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// Slurm takes jobs that are too large for it, and lets them wait.
func hopeless(t *testing.T) {
	w := newWorld(t, slurm.Options{}, nil)
	a := w.AttemptFor(drivertest.Ends)
	a.Procs = 100
	mustStart(t, w.OpenBatch(), a)
	w.WaitUntil("the loss to be heard", func() bool { return w.CountMessages(a, wire.Lost) == 1 })
	if m := w.HeardMessages(a); !strings.Contains(m[len(m)-1].Why, ": PartitionConfig") || w.StartCount(a) != 0 {
		t.Errorf("%+v", m)
	}
}

// As if the controller had been too busy to answer, after it had taken the job.
func answerLost(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"squeue", "scancel", "scontrol", "sinfo", "sacct"} {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	path, err := exec.LookPath("sbatch")
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\n" + path + ` "$@" >> ` + dir +
		"/taken\necho 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(dir, "sbatch"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, slurm.Options{Commands: dir}, nil)
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Ends)
	mustStart(t, d, a)
	w.WaitUntil("the end to be heard", func() bool { return w.CountMessages(a, wire.Ended) == 1 })
	taken, err := os.ReadFile(filepath.Join(dir, "taken"))
	if n := len(strings.Fields(string(taken))); n != 1 || err != nil || w.StartCount(a) != 1 {
		t.Errorf("%d jobs, %v; it began %d times", n, err, w.StartCount(a))
	}
}

func cancelled(t *testing.T) {
	w := newWorld(t, slurm.Options{Options: []string{"--hold"}}, nil)
	d, waits := w.OpenBatch(), w.AttemptFor(drivertest.Ends)
	mustStart(t, d, waits)
	batchtest.DoOutside(t, "scancel", "--user=alice", "--state=PENDING")
	w.WaitUntil("the loss to be heard", func() bool { return w.CountMessages(waits, wire.Lost) == 1 })
	m := w.HeardMessages(waits)
	if why := m[len(m)-1].Why; !strings.Contains(why, "CANCELLED") || w.StartCount(waits) != 0 {
		t.Errorf("%q", why)
	}
	// One that runs is told to go, and ended if it does not.
	w = newWorld(t, slurm.Options{}, nil)
	d, runs := w.OpenBatch(), w.AttemptFor(drivertest.Stays)
	mustStart(t, d, runs)
	w.WaitUntil("the program to begin", func() bool { return w.StartCount(runs) == 1 })
	batchtest.DoOutside(t, "scancel", "--user=alice", "--state=RUNNING", "--name="+jobName(t, d.JobPrefix(), runs))
	w.WaitUntil("that to be heard", func() bool {
		return w.CountMessages(runs, wire.Lost)+w.CountMessages(runs, wire.Left)+w.CountMessages(runs, wire.Ended) > 0
	})
	if w.LivingProcesses(runs) > 0 || w.StartCount(runs) != 1 || w.CountMessages(runs, wire.Ended) > 0 {
		t.Errorf("%d live, it began %d times; heard %+v", w.LivingProcesses(runs), w.StartCount(runs), w.HeardMessages(runs))
	}
}

// Those who may take processors away from others do so. The agent says that it
// was told to go, and Slurm says by whom.
func preempted(t *testing.T) {
	batchtest.DoOutside(t, "scontrol", "create", "PartitionName=urgent", "Nodes=ALL", "MaxTime=INFINITE", "PriorityTier=10")
	defer batchtest.DoOutside(t, "scontrol", "delete", "PartitionName=urgent")
	w := newWorld(t, slurm.Options{Options: []string{"--nodelist=n2"}}, nil)
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Stays)
	mustStart(t, d, a)
	w.WaitUntil("the program to begin", func() bool { return w.StartCount(a) == 1 })
	id := ask(t, "squeue", "--noheader", "--format=%i", "--name="+jobName(t, d.JobPrefix(), a))
	urgent := ask(t, "sbatch", "--parsable", "--partition=urgent", "--nodelist=n2", "--nodes=1", "--ntasks=4",
		"--output=/dev/null", "--chdir=/", "--wrap=sleep 1")
	defer ask(t, "scancel", urgent)
	w.WaitUntil("that to be heard", func() bool { return w.CountMessages(a, wire.Left) == 1 })
	if m := w.HeardMessages(a); m[len(m)-1].Cause != jobfile.Preempted {
		t.Errorf("%+v", m[len(m)-1])
	}
	m := slurm.New(slurm.Options{})
	w.WaitUntil("Slurm to have ended it", func() bool {
		ended, err := m.JobEndings(t.Context(), []string{id})
		return err == nil && ended[id].How == "PREEMPTED" && ended[id].Cause == jobfile.Preempted
	})
}

func jobName(t *testing.T, prefix string, a *wire.Attempt) string {
	t.Helper()
	list, err := slurm.New(slurm.Options{}).ListQueue(t.Context(), "gw-")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Name == prefix+attemptdir.FolderName(batchtest.AttemptID(a)) {
			return e.Name
		}
	}
	t.Fatal("its job is not in the queue")
	return ""
}

// Some run, some wait, some are being submitted while there is no controller.
func restarted(t *testing.T) {
	w := newWorld(t, slurm.Options{}, nil)
	d := w.OpenBatch()
	var all []*wire.Attempt
	add := func() *wire.Attempt {
		a := w.AttemptUntilLetGo()
		a.Procs = 3
		all = append(all, a)
		return a
	}
	for range 4 { // two of them wait
		mustStart(t, d, add())
	}
	begun := func() int {
		n := 0
		for _, a := range all {
			n += w.StartCount(a)
		}
		return n
	}
	w.WaitUntil("two to begin", func() bool { return begun() >= 1 })
	batchtest.DoOutside(t, "stop")
	var late sync.WaitGroup
	for range 3 {
		a := add()
		late.Go(func() { mustStart(t, d, a) })
	}
	_, _ = d.MeasureLoad(t.Context()) // it may not know
	for _, a := range all[4:] {
		w.WaitUntil("sbatch, which finds no controller", func() bool {
			name := d.JobPrefix() + attemptdir.FolderName(batchtest.AttemptID(a))
			return exec.Command("pgrep", "--full", "sbatch .*--job-name="+name+" ").Run() == nil
		})
	}
	batchtest.DoOutside(t, "start")
	late.Wait()
	for range 6 {
		a := add()
		a.Procs = 1
		late.Go(func() { mustStart(t, d, a) })
	}
	batchtest.DoOutside(t, "restart")
	late.Wait()
	d = w.OpenBatch()
	for _, a := range all { // as a broker does after its own restart
		mustStart(t, d, a)
	}
	w.LetGo()
	for i, failed := 0, 0; i < len(all); i++ {
		a := all[i]
		w.WaitUntil("the end to be heard",
			func() bool { return w.CountMessages(a, wire.Ended)+w.CountMessages(a, wire.Lost) == 1 })
		// Slurm may fail a job that it begins while it starts itself. We hear of it, and
		// then there is another attempt.
		if w.CountMessages(a, wire.Lost) == 1 && w.StartCount(a) == 0 && failed < 2 {
			all[i] = w.AttemptUntilLetGo()
			mustStart(t, d, all[i])
			failed++
			i--
		}
	}
	for _, a := range all {
		if m := w.HeardMessages(a); w.StartCount(a) != 1 || w.CountMessages(a, wire.Lost) != 0 || m[len(m)-1].Code != batchtest.LetGoCode {
			t.Errorf("it began %d times; heard %+v", w.StartCount(a), m)
		}
	}
}

// startLimited starts what takes longer than it may and returns a test of what
// became of it.
func startLimited(t *testing.T) func(t *testing.T) {
	// Slurm counts in minutes
	w := newWorld(t, slurm.Options{Options: []string{"--nodelist=n1"}},
		func(o *batch.Options) { o.Time = 30 * time.Second })
	a := w.AttemptFor(drivertest.Stays)
	mustStart(t, w.OpenBatch(), a)
	return func(t *testing.T) {
		w.WaitUntil("the end to be heard", func() bool {
			return w.CountMessages(a, wire.Ended)+w.CountMessages(a, wire.Left)+w.CountMessages(a, wire.Lost) == 1
		})
		m := w.HeardMessages(a)
		if last := m[len(m)-1]; last.Kind != wire.Ended || last.Code != 124 ||
			!strings.Contains(last.Why, "time limit of cluster") {
			t.Errorf("%+v", last)
		}
		if w.LivingProcesses(a) > 0 || w.StartCount(a) != 1 {
			t.Errorf("%d live, it began %d times", w.LivingProcesses(a), w.StartCount(a))
		}
	}
}

// The daemon of a node is killed: Slurm gives the job up, which runs on.
func nodeFails(t *testing.T) {
	w := newWorld(t, slurm.Options{Options: []string{"--nodelist=n2"}}, nil)
	d := w.OpenBatch()
	ends, stays := w.AttemptUntilLetGo(), w.AttemptFor(drivertest.Stays)
	for _, a := range []*wire.Attempt{ends, stays} {
		mustStart(t, d, a)
		w.WaitUntil("the program to begin", func() bool { return w.StartCount(a) == 1 })
	}
	id := ask(t, "squeue", "--noheader", "--format=%i", "--name="+jobName(t, d.JobPrefix(), stays))
	batchtest.DoOutside(t, "kill", "n2")
	defer batchtest.DoOutside(t, "revive", "n2")
	m := slurm.New(slurm.Options{})
	w.WaitUntil("Slurm to give it up", func() bool {
		list, err := m.ListQueue(t.Context(), d.JobPrefix())
		return err == nil && len(list) == 0
	})
	if ended, err := m.JobEndings(t.Context(), []string{id}); err != nil || ended[id].Cause != jobfile.NodeFail {
		t.Errorf("Slurm says %+v, %v", ended, err)
	}
	time.Sleep(5 * w.Options.Poll) // the driver asks that often, and draws no conclusion
	d = w.OpenBatch()
	for _, a := range []*wire.Attempt{ends, stays} {
		mustStart(t, d, a)
	}
	if w.CountMessages(ends, wire.Lost)+w.CountMessages(stays, wire.Lost) > 0 || w.LivingProcesses(stays) == 0 {
		t.Error("what runs counts as lost")
	}
	w.LetGo()
	w.WaitUntil("the end to be heard", func() bool { return w.CountMessages(ends, wire.Ended) == 1 })
	if m := w.HeardMessages(ends); m[len(m)-1].Code != batchtest.LetGoCode || w.StartCount(ends) != 1 {
		t.Errorf("%+v", m)
	}
	// What Slurm cannot end any more ends all the same.
	if err := d.ReleaseAttempt(t.Context(), batchtest.AttemptID(stays)); err != nil {
		t.Error(err)
	}
	if w.LivingProcesses(stays) > 0 {
		t.Error("it lives on")
	}
}
