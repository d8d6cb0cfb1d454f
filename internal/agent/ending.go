package agent

import (
	"fmt"
	"os"

	"github.com/godwit-hpc/godwit/internal/agent/parallel"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// lostHost is where launchers note that a host was lost.
func (f folder) lostHost() string { return f.filePath("lost-host") }

// programEnding is how a program went: one that failed because it lost a host is not to
// blame.
func (l *life) programEnding(r checkpoint.Result) wire.Message {
	if host, err := os.ReadFile(l.folder.lostHost()); err == nil && r.Code != 0 &&
		(len(l.attempt.Hosts) > 1 || parallel.IsJoint(l.attempt)) {
		return wire.Message{Kind: wire.Lost, Cause: jobfile.NodeFail,
			Why: fmt.Sprintf("the connection to %s was lost%s: %s", host, l.lostRanks(string(host)), endingText(r))}
	}
	return wire.Message{Kind: wire.Ended, Code: r.Code, Why: endingText(r)}
}
