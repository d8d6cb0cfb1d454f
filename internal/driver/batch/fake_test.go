package batch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

// pretender is a manager as simple as one can be: it runs scripts as processes
// of this machine, at once. It can be told to fail.
type pretender struct {
	mu    sync.Mutex
	jobs  []*pretended
	calls map[string]int

	running sync.WaitGroup
	// What goes wrong; nil: nothing. They get the number of the call, from 1.
	before         func(n int) error // a submission does not arrive
	after          func(n int) error // its answer is lost
	queue          func(n int) error
	ended          func(n int) error
	hold, hopeless bool          // jobs wait, for ever
	answered       func()        // is called at the end of a submission; nil: nobody is
	slow           time.Duration // a submission takes, as those of real managers do
	tardy          time.Duration // a list and a cancellation take
	usual, longest time.Duration // that a job may run
	atOnce         int           // submissions under way
	most           int           // of them at any time
	held           map[string]int
	refuse         error // to hold
	heldBy         driver.Held
}

type pretended struct {
	batch.Request
	id     string
	cmd    *exec.Cmd // nil: it waits
	gone   bool
	ending batch.Ending
}

func (p *pretender) count(what string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls == nil {
		p.calls = map[string]int{}
	}
	p.calls[what]++
	return p.calls[what]
}

func (p *pretender) called(what string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[what]
}

func (p *pretender) HoldHosts(_ context.Context, name string, _ time.Time, _ driver.Need) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil {
		p.held = map[string]int{}
	}
	p.held[name]++
	return p.refuse
}

func (p *pretender) DropHold(_ context.Context, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held, name)
	return nil
}

func (p *pretender) KindName() string { return jobfile.Slurm }

func (p *pretender) SubmitJob(ctx context.Context, r *batch.Request) (string, error) {
	n := p.count("submit")
	p.mu.Lock()
	p.atOnce++
	p.most = max(p.most, p.atOnce)
	before, after, answered, slow := p.before, p.after, p.answered, p.slow
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.atOnce--
		p.mu.Unlock()
		if answered != nil {
			answered()
		}
	}()
	time.Sleep(slow)
	if before != nil {
		if err := before(n); err != nil {
			return "", err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	j := &pretended{Request: *r, id: strconv.Itoa(100 + len(p.jobs))}
	p.jobs = append(p.jobs, j)
	if !p.hold {
		if err := p.launch(j); err != nil {
			return "", err
		}
	}
	if after != nil {
		if err := after(n); err != nil {
			return "", err
		}
	}
	return j.id, nil
}

// launch runs a script. p.mu is held.
func (p *pretender) launch(j *pretended) error {
	out, err := os.OpenFile(j.Output, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	j.cmd = exec.Command("/bin/sh", j.Script)
	j.cmd.Stdout, j.cmd.Stderr = out, out
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := j.cmd.Start(); err != nil {
		return err
	}
	p.running.Go(func() {
		_ = j.cmd.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		j.gone = true
		if j.ending.How == "" {
			j.ending = batch.Ending{How: "DONE", Code: j.cmd.ProcessState.ExitCode()}
		}
	})
	return nil
}

// release lets those go on that wait.
func (p *pretender) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = false
	for _, j := range p.jobs {
		if j.cmd == nil && !j.gone {
			if err := p.launch(j); err != nil {
				panic(err)
			}
		}
	}
}

// lose takes a job out of the queue; what it runs runs on.
func (p *pretender) lose(how string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, j := range p.jobs {
		j.gone, j.ending = true, batch.Ending{How: how, Cause: map[string]string{"NODE_FAIL": jobfile.NodeFail}[how]}
	}
}

func (p *pretender) ListQueue(_ context.Context, prefix string) ([]batch.Entry, error) {
	n := p.count("queue")
	time.Sleep(p.tardy)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queue != nil {
		if err := p.queue(n); err != nil {
			return nil, err
		}
	}
	var list []batch.Entry
	for _, j := range p.jobs {
		if j.gone || !strings.HasPrefix(j.Name, prefix) {
			continue
		}
		e := batch.Entry{ID: j.id, Name: j.Name, State: batch.Running, Hosts: []string{"a"}}
		if j.cmd == nil {
			e.State, e.Why, e.Hopeless = batch.Pending, "Resources", p.hopeless
		}
		list = append(list, e)
	}
	return list, nil
}

func (p *pretender) JobEndings(_ context.Context, ids []string) (map[string]batch.Ending, error) {
	n := p.count("ended")
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended != nil {
		if err := p.ended(n); err != nil {
			return nil, err
		}
	}
	list := map[string]batch.Ending{}
	for _, j := range p.jobs {
		for _, id := range ids {
			if id == j.id && j.gone && j.ending.How != "FORGOTTEN" {
				list[id] = j.ending
			}
		}
	}
	return list, nil
}

func (p *pretender) CancelJobs(_ context.Context, ids []string) error {
	p.count("cancel")
	time.Sleep(max(p.tardy, 5*time.Millisecond))
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, j := range p.jobs {
		for _, id := range ids {
			switch {
			case id != j.id || j.gone:
			case j.cmd == nil:
				j.gone, j.ending = true, batch.Ending{How: "CANCELLED"}
			default:
				j.ending = batch.Ending{How: "CANCELLED"}
				_ = j.cmd.Process.Signal(syscall.SIGTERM)
			}
		}
	}
	return nil
}

func (p *pretender) SurveyHosts(context.Context) (*driver.Survey, error) {
	if p.count("survey") < 0 {
		return nil, errors.New("never")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return &driver.Survey{Manager: "Pretender", Waiting: 3, Held: p.heldBy, Hosts: []driver.Host{
		{Name: "a", Procs: 4, Free: 3}, {Name: "b", Procs: 8, Free: 8, Down: true}}}, nil
}

func (p *pretender) TimeLimits(context.Context) (usual, most time.Duration) {
	return p.usual, p.longest
}

func (p *pretender) EstimateWait(_ context.Context, n driver.Need) (driver.Wait, error) {
	return driver.Wait{Known: true, Seconds: float64(p.count("wait")), Why: fmt.Sprint(n.Procs)}, nil
}
