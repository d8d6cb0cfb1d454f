package adaptive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// Cost is one run of (d): the program plainly, or as a job that is watched.
type Cost struct {
	Round   int
	Every   time.Duration // between two looks; 0: a plain exec
	Sandbox bool
	Wall    float64 // seconds from the program's start to its end
	Start   float64 // seconds from submission to the program's start
	CPU     float64 // of the program
	Agent   float64 // CPU seconds of the agent, from its start until just before its end
	Watch   float64 // part of one processor that the agent took while it only watched
}

// measureOverhead is (d): the same program plainly and watched at several intervals, in
// turn, so that whatever changes in the machine meets all of them alike.
func (p *Plan) measureOverhead(ctx context.Context, prog Program, home int) ([]Cost, error) {
	unit, err := prog.measureUnit(ctx, home)
	if err != nil {
		return nil, err
	}
	size := p.OverheadLength.Seconds() / unit.CPU
	prog = prog.withoutOutput()
	var list []Cost
	for round := range p.OverheadRepeat {
		u, err := prog.runPlain(ctx, size, home)
		if err != nil {
			return nil, err
		}
		list = append(list, Cost{Round: round, Wall: u.Wall, CPU: u.CPU})
		p.sayLine("%s plainly, round %d of %d: %.2f s", prog.Name, round+1, p.OverheadRepeat, u.Wall)
		for _, every := range p.Intervals {
			c, err := p.runWatched(ctx, &prog, size, "restart", every)
			if err != nil {
				return nil, err
			}
			c.Round = round
			list = append(list, c)
			p.sayLine("%s watched every %s: %.2f s, the agent took %.4f %% of a core", prog.Name, every, c.Wall, 100*c.Watch)
		}
		c, err := p.runWatched(ctx, &prog, size, "sandbox", 2*time.Second)
		if err != nil {
			return nil, err
		}
		c.Round, c.Sandbox = round, true
		list = append(list, c)
		p.sayLine("%s in the sandbox: %.2f s", prog.Name, c.Wall)
	}
	return list, nil
}

// runWatched runs a program as a job. Nobody looks at it meanwhile: an agent that is
// asked how its job is has more to do.
func (p *Plan) runWatched(ctx context.Context, prog *Program, size float64, method string,
	every time.Duration) (c Cost, err error) {
	b, err := NewBed(ctx, p.Agent, every)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	spec, err := b.newJob(prog, size, method)
	if err != nil {
		return c, err
	}
	spec.On, spec.Progress = []string{Home}, ""
	n, err := b.SubmitJob(ctx, &spec)
	if err != nil {
		return c, err
	}
	id := fmt.Sprint(n)
	over, stop := context.WithCancel(ctx)
	meter := make(chan agentUse, 1)
	go func() { meter <- b.meterAgent(over) }()
	_, err = b.Client.CopyLogs(ctx, id, 1, 0, true, io.Discard) // until the job has ended
	stop()
	use := <-meter
	if err != nil {
		return c, err
	}
	j, err := b.AwaitJob(ctx, n, func(j *api.Job) bool { return j.IsOver() })
	if err != nil {
		return c, err
	}
	if j.ExitCode == nil || *j.ExitCode != 0 {
		return c, fmt.Errorf("the watched program: %s: %s", j.State, j.Why)
	}
	return Cost{Every: every, Wall: secondsBetween(j.Started, j.Ended), Start: secondsBetween(j.Submitted, j.Started),
		CPU: j.CPUS, Agent: use.total, Watch: use.share}, nil
}

// agentUse is CPU time of an agent.
type agentUse struct {
	total float64 // seconds
	share float64 // part of a processor, from a second after its start on
}

// meterAgent reads what the only agent of the bed uses, until over.
func (b *Bed) meterAgent(over context.Context) agentUse {
	const settled = time.Second // after its start an agent only watches
	var use agentUse
	pid, first, began := 0, 0.0, b.Clock()
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case <-over.Done():
			tick.Stop()
			return use
		case <-tick.C:
		}
		if pid == 0 {
			if pid = b.agentProcess(); pid != 0 {
				began = b.Clock()
				tick.Reset(250 * time.Millisecond)
			}
			continue
		}
		used, ok := cpuOf(pid)
		if !ok {
			continue
		}
		use.total = used
		switch since := b.Clock.Since(began); {
		case since < settled:
		case first == 0:
			first, began = used, b.Clock().Add(-settled) // counted from here on
		default:
			use.share = (used - first) / (since - settled).Seconds()
		}
	}
}

// agentProcess is the process of the agent at home; 0 if there is none yet.
func (b *Bed) agentProcess() int {
	locks, err := filepath.Glob(filepath.Join(b.Dir, "state", "clusters", Home, "*", "lock"))
	if err != nil || len(locks) == 0 {
		return 0
	}
	data, err := os.ReadFile(locks[0])
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0
	}
	return pid
}

// cpuOf is the CPU seconds that the threads of a process have used, to the
// nanosecond, without those of its children.
func cpuOf(pid int) (float64, bool) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		return 0, false
	}
	sum := 0.0
	for _, t := range threads {
		data, err := os.ReadFile(t)
		if err != nil {
			continue // it has ended
		}
		first, _, _ := strings.Cut(string(data), " ")
		ns, err := strconv.ParseFloat(first, 64)
		if err != nil {
			return 0, false
		}
		sum += ns / 1e9
	}
	return sum, true
}
