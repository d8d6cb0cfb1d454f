package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// program is a job of one component as both schedulers see it: it does work,
// as many units a second as it has processors.
type program struct {
	id        int
	kind      programKind
	min, max  int
	initial   int
	powers    bool // runs on powers of two only
	submit    int  // second
	work      int
	started   bool
	size      int
	since     int
	remaining int
}

type programKind int

const (
	rigidProgram programKind = iota
	moldableProgram
	malleableProgram
)

// usable is the largest size up to n that suits the program.
func (p *program) usable(n int) int {
	if !p.powers {
		return n
	}
	size := p.min
	for 2*size <= n {
		size *= 2
	}
	return size
}

// sized is a running program.
type sized struct {
	*program
	cluster, size int
}

// scheduler is what the twin and the engine have in common.
type scheduler interface {
	submit(p *program)
	ended(p *program)
	jobs() []sized
}

// history runs programs under a scheduler and writes down every size at every
// second at which something happens.
func history(s scheduler, programs []program) []string {
	list := slices.Clone(programs)
	var log []string
	running := map[*program]bool{}
	for next, now := 0, 0; next < len(list) || len(running) > 0; {
		ending := soonest(running, now)
		switch {
		case ending != nil && (next == len(list) || ending.end() <= list[next].submit):
			now = ending.end()
			delete(running, ending)
			s.ended(ending)
		case next < len(list):
			now = list[next].submit
			s.submit(&list[next])
			next++
		}
		log = append(log, note(s, running, now)...)
		if len(log) > 100_000 {
			return append(log, "this never ends")
		}
	}
	return log
}

func (p *program) end() int { return p.since + (p.remaining+p.size-1)/p.size }

// soonest is the program that ends first.
func soonest(running map[*program]bool, now int) *program {
	var first *program
	for p := range running {
		if first == nil || p.end() < first.end() || p.end() == first.end() && p.id < first.id {
			first = p
		}
	}
	return first
}

// note takes down who runs where on how many.
func note(s scheduler, running map[*program]bool, now int) []string {
	var log []string
	for _, j := range s.jobs() {
		p := j.program
		if !p.started {
			p.started, p.remaining, p.since, p.size = true, p.work, now, j.size
			running[p] = true
			log = append(log, fmt.Sprintf("%d s: job %d starts in %d on %d", now, p.id, j.cluster, j.size))
		} else if p.size != j.size {
			p.remaining = max(0, p.remaining-p.size*(now-p.since))
			p.since, p.size = now, j.size
			log = append(log, fmt.Sprintf("%d s: job %d has %d", now, p.id, j.size))
		}
	}
	return append(log, fmt.Sprintf("%d s", now))
}

// prompt is the engine with jobs that answer at once.
type prompt struct {
	eng      *engine.Engine
	programs map[core.JobID]*program
	order    []core.JobID
	wrong    string
}

func newPrompt(t *twin) *prompt {
	spec := world.Spec{}
	for _, c := range t.clusters {
		spec.Clusters = append(spec.Clusters,
			world.ClusterSpec{KeepFree: c.keep, GrowFree: c.growFree, Hosts: []world.HostSpec{{Procs: c.procs, Speed: 1}}})
	}
	cfg := engine.Config{Malleable: malleable.FPSMA{}, ShrinkGrace: time.Minute}
	if t.pwa {
		cfg.Approach = engine.PWA
	}
	if t.egs {
		cfg.Malleable = malleable.EGS{}
	}
	return &prompt{eng: engine.New(cfg, world.New(spec)), programs: map[core.JobID]*program{}}
}

func (s *prompt) submit(p *program) {
	id := core.JobID(p.id)
	s.programs[id] = p
	s.tell(core.Input{Kind: core.Submit, Spec: &core.Job{ID: id, Kind: core.Kind(p.kind),
		Components: []core.Component{{Min: p.min, Max: p.max, Initial: p.initial}}}})
}

func (s *prompt) ended(p *program) {
	s.tell(core.Input{Kind: core.Ended, Job: core.JobID(p.id), Epoch: 1})
}

func (s *prompt) jobs() []sized {
	var list []sized
	for _, id := range s.order {
		if j := s.eng.World().Job(id); j != nil && j.State() == core.Running {
			list = append(list, sized{s.programs[id], int(j.Part(0).Cluster().ID()), j.Size()})
		}
	}
	return list
}

// tell lets everything happen that follows: answers come before anything
// else, so that one who is asked has answered before the next one starts.
func (s *prompt) tell(in core.Input) {
	var answers []core.Input
	for later := []core.Input{in}; len(answers)+len(later) > 0; {
		if len(answers) > 0 {
			in, answers = answers[0], answers[1:]
		} else {
			in, later = later[0], later[1:]
		}
		for _, c := range s.eng.Step(0, &in).Commands {
			switch c.Kind {
			case core.Start:
				s.order = append(s.order, c.Job)
				later = append(later, core.Input{Kind: core.Started, Job: c.Job, Epoch: c.Epoch})
			case core.Offer:
				answers = append(answers, s.answer(c)...)
			default:
				s.wrong = fmt.Sprintf("the engine commands %v", c.Kind)
			}
		}
	}
}

// answer takes what the program can use. One that must shrink to a size that
// does not suit it gives the rest back first.
func (s *prompt) answer(c core.Command) []core.Input {
	p, size := s.programs[c.Job], s.eng.World().Job(c.Job).Size()
	in := core.Input{Kind: core.Answer, Job: c.Job, Epoch: c.Epoch, Serial: c.Serial}
	if c.N > 0 {
		in.N = p.usable(size+c.N) - size
		return []core.Input{in}
	}
	in.N = -c.N
	if extra := size + c.N - p.usable(size+c.N); extra > 0 {
		return []core.Input{{Kind: core.GiveBack, Job: c.Job, Epoch: c.Epoch, N: extra}, in}
	}
	return []core.Input{in}
}

// drawPrograms draws either programs of which some run on powers of two only,
// or some whose first size depends on what is idle. Not both: a program that
// gives back more than it must lets the engine place the one who waits before
// all have answered, when less is idle than the twin sees.
func drawPrograms(t *rapid.T, widest int) []program {
	n := rapid.IntRange(1, 25).Draw(t, "programs")
	powers := rapid.Bool().Draw(t, "powers of two")
	list := make([]program, n)
	at := 0
	for i := range list {
		at += rapid.IntRange(0, 20).Draw(t, "gap")
		p := program{id: i + 1, submit: at, kind: programKind(rapid.IntRange(0, 2).Draw(t, "kind")),
			work: rapid.IntRange(1, 400).Draw(t, "work")}
		p.min = rapid.IntRange(1, min(6, widest)).Draw(t, "min")
		p.max = p.min + rapid.IntRange(0, 12).Draw(t, "more")
		if powers || rapid.Bool().Draw(t, "asks for its minimum") {
			p.initial = p.min
		}
		if powers && p.kind == malleableProgram && rapid.Bool().Draw(t, "picky") {
			p.powers, p.min, p.initial = true, 1, 1
		}
		list[i] = p
	}
	return list
}

func TestTheEngineDoesWhatItsSimpleTwinDoes(t *testing.T) {
	for range 20 { // it takes many to meet the rare cases, and each is quick
		rapid.Check(t, likeTheTwin)
	}
}

func likeTheTwin(t *rapid.T) {
	tw := &twin{pwa: rapid.Bool().Draw(t, "pwa"), egs: rapid.Bool().Draw(t, "egs")}
	widest := 0
	for range rapid.IntRange(1, 4).Draw(t, "clusters") {
		c := twinCluster{procs: rapid.IntRange(4, 24).Draw(t, "procs"), keep: rapid.IntRange(0, 2).Draw(t, "keep"),
			growFree: rapid.IntRange(0, 2).Draw(t, "growfree")}
		tw.clusters = append(tw.clusters, c)
		widest = max(widest, c.procs-c.keep)
	}
	programs := drawPrograms(t, widest)
	eng := newPrompt(tw)
	is, want := history(eng, programs), history(tw, programs)
	if eng.wrong != "" {
		t.Fatal(eng.wrong)
	}
	for i := range max(len(is), len(want)) {
		if i >= len(is) || i >= len(want) || is[i] != want[i] {
			t.Fatalf("the engine says\n%v\nthe twin\n%v\nafter\n%v", is[i:min(i+4, len(is))], want[i:min(i+4, len(want))],
				is[max(0, i-6):i])
		}
	}
}
