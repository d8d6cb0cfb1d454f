package batch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
)

// lossReporter is what there is of agents that only tell, started here.
type lossReporter struct {
	alive    *atomic.Bool // nil: there was none
	failures int
	pause    int // how many times to wait before the next
}

// loseAttempt writes down why an attempt is lost and has it told. a.mu is held.
func (d *Driver) loseAttempt(a *attempt, endings map[string]Ending) {
	why, cause := a.describeEnding(endings), endings[a.job].Cause
	d.log.Warn("an attempt is lost", "job", a.id.Job, "epoch", a.id.Epoch, "why", why)
	if err := attemptdir.ReplaceFile(a.dir, attemptdir.LostFile, []byte(why+"\n"+cause+"\n")); err != nil {
		d.log.Error("a loss cannot be written down", "job", a.id.Job, "epoch", a.id.Epoch, "err", err)
		return // it is tried again next time
	}
	d.reportLoss(a)
}

// describeEnding says in one line how the job ended.
func (a *attempt) describeEnding(endings map[string]Ending) string {
	job := "its job"
	if a.job != "" {
		job = "job " + a.job
	}
	e, ok := endings[a.job]
	if !ok {
		return OneLine(job + " has left the cluster's queue, which does not say why" + lastOutput(a.dir))
	}
	how := e.How
	switch {
	case e.Signal != 0:
		how += fmt.Sprintf(" (signal %d)", e.Signal)
	case e.Code != 0:
		how += fmt.Sprintf(" (exit code %d)", e.Code)
	}
	return OneLine("the cluster ended " + job + ": " + how + lastOutput(a.dir) + a.guessUnseen(e))
}

// guessUnseen is a guess where a script failed before an agent came up: it was not
// found, not to be executed, or there was no place for its output (which Slurm
// calls signal 53).
func (a *attempt) guessUnseen(e Ending) string {
	if hasRun(a.dir) || e.Code != 126 && e.Code != 127 && e.Signal != 53 {
		return ""
	}
	return "; do all hosts of the cluster see " + a.dir + "?"
}

func lastOutput(dir string) string {
	if line := lastSaid(dir); line != "" {
		return "; it said: " + line
	}
	return ""
}

// maxReporterPause is how many answers of the manager are let pass, at most, before
// another agent is tried where those before it died.
const maxReporterPause = 32

// reportLoss starts an agent here that tells what became of the attempt, unless one
// does. Those that die at once are replaced ever more rarely. a.mu is held.
func (d *Driver) reportLoss(a *attempt) {
	r := &a.reporter
	if r.alive != nil && r.alive.Load() {
		return
	}
	if r.pause > 0 {
		r.pause--
		return
	}
	r.pause = min(1<<min(r.failures, 10), maxReporterPause)
	r.failures++
	if err := d.startReporter(a); err != nil {
		d.log.Error("an agent that tells of a loss cannot be started", "job", a.id.Job, "epoch", a.id.Epoch, "err", err)
	}
}

func (d *Driver) startReporter(a *attempt) error {
	path, err := d.agents.agentPath()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(a.dir, attemptdir.LogFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the agent has it
	cmd := exec.Command(path, "agent", a.dir)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it survives us
	if err := cmd.Start(); err != nil {
		return err
	}
	alive := new(atomic.Bool)
	alive.Store(true)
	a.reporter.alive = alive
	// Not of the driver's tasks: who closes a driver does not wait for agents.
	go func() {
		_ = cmd.Wait() // how it fared stands in the folder
		alive.Store(false)
	}()
	return nil
}
