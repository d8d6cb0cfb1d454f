package agent

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
)

// endMargin is what it takes to end a program and say so.
const endMargin = 2 * time.Second

// expectEviction sets the alarm for leaving before the cluster's manager ends
// the attempt.
func (l *life) expectEviction() {
	limit := l.attempt.Limit
	if left, ok := slurmTimeLeft(os.Getenv, l.around.clock()); ok && (limit == 0 || left < limit) {
		limit = left
	}
	if limit > 0 {
		l.evicted = time.NewTimer(max(0, limit-checkpointing.NoticePeriod(limit)))
	}
}

// slurmTimeLeft is the time until Slurm ends the job: it knows better than who
// submitted it, since a partition may allow less.
func slurmTimeLeft(getenv func(string) string, now time.Time) (time.Duration, bool) {
	end, err := strconv.ParseInt(getenv("SLURM_JOB_END_TIME"), 10, 64)
	if err != nil || end <= 0 {
		return 0, false
	}
	return time.Unix(end, 0).Sub(now), true
}

// onEviction leaves before the manager ends us, to go on elsewhere. A program
// that cannot be saved is left to run as long as it may: it may just make it, and
// beginning again would end the same way.
func (l *life) onEviction() {
	stopTimer(&l.evicted)
	switch cannotBeSaved := l.phase == running && l.program.choice.Method == checkpointing.MethodRestart; {
	case cannotBeSaved && l.doomed:
		l.verdict = &wire.Message{Kind: wire.Ended, Code: 124, Cause: jobfile.TimeLimit,
			Why: fmt.Sprintf("ended by the time limit of cluster %s; it cannot be saved, so it was not continued",
				l.attempt.Cluster)}
		l.killProgram()
	case cannotBeSaved:
		l.doomed = true
		l.sendNote("limit", "stay", "the walltime limit of "+l.attempt.Cluster+" is near, and it cannot be checkpointed", nil)
		l.evicted = time.NewTimer(checkpointing.NoticePeriod(l.sinceBirth()) - endMargin)
	default:
		l.sendNote("limit", "leave", "the walltime limit of "+l.attempt.Cluster+" is near; it continues from a checkpoint",
			nil)
		l.stopProgram(stopOrder{checkpointing.NoticePeriod(l.sinceBirth()) * 3 / 4, "the time limit of the cluster is near"})
	}
}

// endingCause is what ended an attempt that was not to end yet. Who tells an agent to go
// is its cluster's manager, which takes the processors away, or a machine that
// stops.
func (l *life) endingCause(m *wire.Message) string {
	switch {
	case m.Cause != "":
		return m.Cause
	case m.Kind == wire.Lost:
		return l.folder.lostCause()
	case m.Kind != wire.Left || l.quit == nil:
		return ""
	case isManagedJob(os.Getenv):
		return jobfile.Preempted
	}
	return jobfile.NodeFail
}

// isManagedJob says whether we run as a job of a cluster's manager.
func isManagedJob(getenv func(string) string) bool {
	return getenv("SLURM_JOB_ID") != "" || getenv("JOB_ID") != "" && getenv("SGE_ROOT") != ""
}

// signalSkew is how far apart a program and its agent may be told to go by who
// means them both.
const signalSkew = 300 * time.Millisecond

// endedByShutdown says whether the program was ended by who wants us to go as well: a
// machine that stops, and a cluster's manager, tell all processes of a job at
// once. That is not the end of the job.
func (l *life) endedByShutdown(r checkpoint.Result) bool {
	if l.quit != nil {
		return r.Code != 0 || r.Signal != 0
	}
	if r.Signal != int(unix.SIGTERM) && r.Code != 128+int(unix.SIGTERM) {
		return false
	}
	select {
	case <-l.around.signals:
		l.quit = time.NewTimer(l.around.grace)
		return true
	case <-time.After(signalSkew):
		return false
	}
}
