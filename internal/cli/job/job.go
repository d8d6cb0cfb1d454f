// Package job is the commands of jobs: godwit run, submit, quote, ps, show, logs, wait, cancel,
// explain, migrate, resize, checkpoint, hold, release, requeue, suspend, resume, update and pool.
// It must not decide anything about jobs.
package job

import (
	"sync"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/connect"
)

// app is the program whose commands these are.
type app struct {
	*connect.Connector
	toldAgain sync.Once // that a job is submitted again
}

// NewCommands are godwit run, submit, quote, ps, show, logs, wait, cancel, explain, migrate, resize,
// hold, release, requeue, suspend, resume, update, checkpoint and pool.
func NewCommands(program *connect.Connector) []*cobra.Command {
	a := &app{Connector: program}
	return []*cobra.Command{a.runCommand(), a.submitCommand(), a.quoteCommand(), a.psCommand(), a.showCommand(),
		a.logsCommand(), a.waitCommand(), a.cancelCommand(), a.explainCommand(), a.migrateCommand(), a.resizeCommand(),
		a.holdCommand(), a.releaseCommand(), a.requeueCommand(), a.suspendCommand(), a.resumeCommand(), a.updateCommand(),
		a.usageCommand(),
		a.checkpointCommand(), a.poolCommand()}
}
