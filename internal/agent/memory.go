package agent

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/host/cgroup"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// memoryInterval is how often the memory of a program is compared with its limit
// where no cgroup keeps it. It costs some 0.1 ms each time.
const memoryInterval = 250 * time.Millisecond

// killedCode is the exit code of a program that was ended by SIGKILL.
const killedCode = 128 + int(unix.SIGKILL)

// watchMemory sees to the limit on memory for as long as the program runs. A cgroup
// keeps it exactly; where there is none, we look every now and then.
func (l *life) watchMemory() {
	l.oomSeen = l.around.knownOOMKills(l.attempt.Cgroup)
	limit := l.attempt.Spec.Memory
	if limit <= 0 || keepsMemory(l.attempt.Cgroup) {
		return
	}
	l.memory = time.NewTicker(memoryInterval)
	l.sendNote("memory", "limit of "+core.FormatMemory(limit),
		fmt.Sprintf("no cgroup can keep it here: memory is looked at every %d ms, and the job ended if it has more",
			memoryInterval.Milliseconds()), nil)
}

// keepsMemory says whether a cgroup limits memory.
func keepsMemory(group string) bool {
	g, err := cgroup.OpenGroup(group)
	return group != "" && err == nil && g.HasController("memory")
}

// checkMemory ends a program that has more memory than its job allows.
func (l *life) checkMemory() {
	limit := l.attempt.Spec.Memory
	if l.program == nil || l.verdict != nil {
		return
	}
	before, has := l.overMemory, l.around.usage(l.attempt.Mark).Memory
	if has > limit {
		has = l.around.held(l.attempt.Mark) // what is shared counted once
	}
	l.overMemory = has > limit
	if !l.overMemory || !before { // processes are looked at one after the other: one look may count something twice
		return
	}
	l.verdict = &wire.Message{Kind: wire.Ended, Code: killedCode, Cause: jobfile.OutOfMemory,
		Why: fmt.Sprintf("out of memory: it had %s (limit %s)", core.FormatMemory(has), core.FormatMemory(limit))}
	l.killProgram()
}

// killedForMemory says whether the program ended because the kernel killed it, or the
// sandbox that it ran in, for lack of memory.
func (l *life) killedForMemory(r checkpoint.Result) bool {
	if r.Code == 0 && !r.Lost || l.oomSeen < 0 {
		return false
	}
	ours := keepsMemory(l.attempt.Cgroup) // else somebody else's process may have been killed
	return l.around.knownOOMKills(l.attempt.Cgroup) > l.oomSeen && (ours || r.Lost || r.Code == killedCode)
}

func (l *life) outOfMemory(r checkpoint.Result) wire.Message {
	limit := "of the host or of the cluster's manager"
	if n := l.attempt.Spec.Memory; n > 0 {
		limit = core.FormatMemory(n)
	}
	code := r.Code
	if r.Lost {
		code = killedCode
	}
	return wire.Message{Kind: wire.Ended, Code: code, Cause: jobfile.OutOfMemory,
		Why: fmt.Sprintf("out of memory (limit %s): %s", limit, endingText(r))}
}

// knownOOMKills is around.oom, or that nothing is known.
func (ar *hostServices) knownOOMKills(group string) int64 {
	if ar.oom == nil {
		return -1
	}
	return ar.oom(group)
}

// oomKills is how many processes of a cgroup, or of our own if there is none, the
// kernel has killed for lack of memory; -1 if it does not say.
func oomKills(group string) int64 {
	read := cgroup.OwnOOMKills
	if keepsMemory(group) {
		g, err := cgroup.OpenGroup(group)
		if err != nil {
			return -1
		}
		read = g.OOMKills
	}
	n, err := read()
	if err != nil {
		return -1
	}
	return n
}
