// Package skeletons asks whether a skeleton takes long where its program takes long:
// both run, one after the other, on four hosts of a lab in many states of the network.
// The programs are those of examples/apps; capture and skeletons are the commands that
// users have. It must not know how these work.
package skeletons

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/lab"
	"github.com/godwit-hpc/godwit/internal/mpi/mpirun"
)

// Program is one with its arguments. It must take about a second or more where
// nothing disturbs it.
type Program struct {
	Name string
	Args []string
}

// ExperimentPrograms are those of the experiment: a bit more than half a second each at
// 100 Mbit/s, and some seconds in most states.
func ExperimentPrograms() []Program {
	return []Program{
		{"bt", []string{"64", "16"}},
		{"cg", []string{"16000", "2"}},
		{"is", []string{"1048576", "16"}},
		{"lu", []string{"64", "8"}},
		{"mg", []string{"64", "10"}},
	}
}

// Experiment is what is done.
type Experiment struct {
	Apps   string // the folder with the programs
	Only   []string
	States int
	// times that all states are gone through; of the runs in a state the shortest counts: others only make it longer
	Repeat int
	Part   float64 // of a program's time that its skeleton is to take
	Seed   uint64
	Lab    string // its name
	Say    func(string)
	Keep   func(*Result) error // called after every state
	Now    clock.Clock
}

// Result is what was measured.
type Result struct {
	Machine  measured.Machine
	Part     float64
	Repeat   int
	Programs []Measured
}

// Measured is one program: what it and its skeleton took in each state, each time.
type Measured struct {
	Name     string
	Args     []string
	Alone    float64 // where nothing disturbs it, when it was captured
	Scale    float64
	Slowest  []float64 // Mbit/s of the slowest way between two hosts
	Program  [][]float64
	Skeleton [][]float64
	Load     string // averages of the machine afterwards
}

const (
	user     = "alice"
	fullRate = 100.0 // Mbit/s of a way that nobody else uses
	hosts    = 4
)

// Run does the experiment.
func (e Experiment) Run(ctx context.Context) (*Result, error) {
	r := &Result{Machine: measured.ThisMachine(e.Now), Part: e.Part, Repeat: e.Repeat}
	plan := &lab.Plan{Name: e.Lab, Users: []string{user}, Head: lab.HostPlan{CPUs: 0.5}, Clusters: []lab.ClusterPlan{
		{Name: "h", Manager: lab.None, Hosts: hosts, Cores: 1, Host: lab.HostPlan{CPUs: 0.3}}}}
	l, err := lab.CreateLab(ctx, plan, lab.Options{Say: e.Say})
	if err != nil {
		return nil, err
	}
	defer func() { _ = lab.RemoveLab(context.WithoutCancel(ctx), l.Name) }() // the next one of that name removes the rest
	b := &bed{lab: l}
	if err := b.bringPrograms(e); err != nil {
		return nil, err
	}
	var programs []Program
	for _, p := range ExperimentPrograms() {
		if len(e.Only) == 0 || slices.Contains(e.Only, p.Name) {
			programs = append(programs, p)
		}
	}
	// What disturbs the machine for a while disturbs one run of a state, not all.
	for pass := range e.Repeat {
		for i, p := range programs {
			if pass == 0 {
				r.Programs = append(r.Programs, Measured{Name: p.Name, Args: p.Args})
				err = b.capturePattern(ctx, p, &r.Programs[i])
			}
			if err == nil {
				err = b.measureStates(ctx, e, p, &r.Programs[i], func() error { return e.Keep(r) })
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.Name, err)
			}
		}
	}
	return r, nil
}

// bed is the lab with what runs on it.
type bed struct {
	lab   *lab.Lab
	names []string
	yield string
}

// bringPrograms brings the programs to the user's home, which all hosts see.
func (b *bed) bringPrograms(e Experiment) error {
	for _, h := range b.lab.Clusters[0].Hosts {
		b.names = append(b.names, h.Name)
	}
	u, err := b.lab.FindUser(user)
	if err != nil {
		return err
	}
	godwit, err := measured.FindGodwit()
	if err != nil {
		return err
	}
	bring := func(from, name string) error {
		data, err := os.ReadFile(from)
		if err != nil {
			return fmt.Errorf("%w (make examples)", err)
		}
		return os.WriteFile(filepath.Join(u.Home, name), data, 0o755) // a program of that user
	}
	err = bring(godwit, "godwit")
	for _, p := range ExperimentPrograms() {
		err = errors.Join(err, bring(filepath.Join(e.Apps, p.Name), p.Name))
	}
	if lib := mpirun.YieldLibrary(); lib != "" {
		b.yield = filepath.Join(u.Home, "yield.so")
		err = errors.Join(err, bring(lib, "yield.so"))
	}
	return err
}

// capturePattern has a program's pattern captured where nobody else uses the network.
func (b *bed) capturePattern(ctx context.Context, p Program, m *Measured) error {
	if _, err := b.setState(ctx, func() float64 { return fullRate }); err != nil {
		return err
	}
	argv := slices.Concat([]string{"./godwit", "capture", "--draw=", "--file", p.Name + ".pattern", "-o", "json", "--"},
		b.launchCommand(), []string{"./" + p.Name}, p.Args)
	out, err := b.runAsUser(ctx, argv...)
	if err != nil {
		return err
	}
	var captured struct {
		Seconds float64 `json:"seconds"`
	}
	if err := json.Unmarshal([]byte(out), &captured); err != nil {
		return fmt.Errorf("what capture says: %w: %s", err, out)
	}
	m.Alone = captured.Seconds
	return nil
}

// measureStates runs a program and its skeleton in all states, the same for all programs and
// each time.
func (b *bed) measureStates(ctx context.Context, e Experiment, p Program, m *Measured, keep func() error) error {
	r := rand.New(rand.NewPCG(e.Seed, 2))
	for i := range e.States {
		busy := 1 + r.IntN(10) // the network as a whole: nobody, up to nine streams on a way
		slowest, err := b.setState(ctx, func() float64 { return fullRate / float64(1+r.IntN(busy)) })
		if err != nil {
			return err
		}
		// Hosts remember how the ways to others were. The first run teaches them how they
		// are now, so that the skeleton does not pay for it alone.
		first, _, err := b.runSkeleton(ctx, p, e.Part*m.Alone)
		if err != nil {
			return err
		}
		short, scale, err := b.runSkeleton(ctx, p, e.Part*m.Alone)
		if err != nil {
			return err
		}
		long, err := b.runProgram(ctx, p)
		if err != nil {
			return err
		}
		if i == len(m.Program) {
			m.Slowest, m.Skeleton, m.Program = append(m.Slowest, slowest), append(m.Skeleton, nil), append(m.Program, nil)
		}
		m.Scale, m.Skeleton[i], m.Program[i] = scale, append(m.Skeleton[i], first, short), append(m.Program[i], long)
		m.Load = measured.LoadAverage()
		e.Say(fmt.Sprintf("%s, state %d of %d: slowest way %.0f Mbit/s, program %.2f s, skeleton %.2f s", p.Name, i+1,
			e.States, slowest, long, short))
		if err := keep(); err != nil {
			return err
		}
	}
	return nil
}

// setState gives each way between two hosts a rate, and returns the lowest.
func (b *bed) setState(ctx context.Context, rate func() float64) (slowest float64, err error) {
	slowest = fullRate
	for i := range b.names {
		for j := range i {
			mbps := rate()
			slowest = min(slowest, mbps)
			if err := b.lab.SetPair(ctx, b.names[j], b.names[i], mbps); err != nil {
				return 0, err
			}
		}
	}
	return slowest, nil
}

// runAsUser runs a command of the user on the lab's head and returns what it wrote.
func (b *bed) runAsUser(ctx context.Context, argv ...string) (string, error) {
	cmd := b.lab.Head.CommandAs(ctx, user, argv...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return "", errors.Join(ctx.Err(),
			fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(complaints.String()+out.String())))
	}
	return out.String(), nil
}

// launchCommand is an mpirun that puts one rank on each host, in their order.
func (b *bed) launchCommand() []string {
	return []string{"mpirun", "-n", strconv.Itoa(hosts), "-H", strings.Join(b.names, ","), "--bind-to", "none",
		"--mca", "btl", "tcp,self", "--mca", "mpi_yield_when_idle", "1"}
}

// tookText is how the programs say how long they took.
var tookText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`: right, ([0-9.]+) s\n`)
})

func (b *bed) runProgram(ctx context.Context, p Program) (float64, error) {
	argv := b.launchCommand()
	if b.yield != "" {
		argv = append(argv, "-x", "LD_PRELOAD="+b.yield)
	}
	out, err := b.runAsUser(ctx, slices.Concat(argv, []string{"./" + p.Name}, p.Args)...)
	if err != nil {
		return 0, err
	}
	found := tookText().FindStringSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("it does not say that it is right: %s", out)
	}
	return strconv.ParseFloat(found[1], 64)
}

func (b *bed) runSkeleton(ctx context.Context, p Program, seconds float64) (took, scale float64, err error) {
	out, err := b.runAsUser(ctx, "./godwit", "skeleton", "run", "--time", fmt.Sprintf("%.3fs", seconds), "--hosts",
		strings.Join(b.names, ","), "-o", "json", p.Name+".pattern")
	if err != nil {
		return 0, 0, err
	}
	var report struct {
		Seconds float64 `json:"skeleton_s"`
		Scale   float64 `json:"scale"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Seconds <= 0 {
		return 0, 0, fmt.Errorf("what the skeleton says: %w: %s", err, out)
	}
	return report.Seconds, report.Scale, nil
}
