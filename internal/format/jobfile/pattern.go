package jobfile

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/netgraph"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel/pattern"
)

// buildPattern makes the pattern of who talks to whom from its name or its file. Its nodes
// are the hosts of the job, with as many processors on each.
func (d *Draft) buildPattern() error {
	if d.talks == "" {
		return nil
	}
	p, err := d.readPattern()
	if err != nil {
		return err
	}
	if d.nodes > 0 && d.nodes != p.Nodes {
		return d.fieldError("num_nodes", fmt.Sprint(d.nodes), fmt.Sprintf("%d, the nodes of pattern %s", p.Nodes, d.talks))
	}
	if d.procs == (CoreSpan{}) {
		n := p.Nodes * max(1, d.cpus)
		d.procs = CoreSpan{n, n}
	}
	if d.procs.Min != d.procs.Max || d.procs.Min%p.Nodes != 0 {
		return d.fieldError("procs", d.procs.toText(),
			fmt.Sprintf("as many cores on each of the %d nodes of pattern %s, such as %d", p.Nodes, d.talks, p.Nodes))
	}
	d.nodes = p.Nodes
	p.Name = d.talks
	d.Pattern = p
	if _, err := pattern.MakeNamed(d.talks, p.Nodes); err == nil {
		return nil
	}
	d.Trials, err = netgraph.ReadTrials(d.absolutePath(d.talks))
	return d.asGiven(err)
}

func (s CoreSpan) toText() string {
	if s.Min == s.Max {
		return fmt.Sprint(s.Min)
	}
	return fmt.Sprintf("%d-%d", s.Min, s.Max)
}

// readPattern takes what is called like a known pattern for one, and all else for
// a file.
func (d *Draft) readPattern() (*core.Pattern, error) {
	nodes := d.nodes
	if nodes == 0 && d.procs.Min == d.procs.Max {
		nodes = d.procs.Min / max(1, d.cpus)
	}
	p, err := pattern.MakeNamed(d.talks, nodes)
	if err == nil {
		return p, nil
	}
	kind, _, _ := strings.Cut(d.talks, ":")
	for _, name := range pattern.KnownNames() {
		if known, _, _ := strings.Cut(name, ":"); known == kind {
			return nil, d.fieldError("pattern", d.talks, err.Error()+"; procs or num_nodes says how many there are")
		}
	}
	file := d.absolutePath(d.talks)
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil, d.fieldError("pattern", d.talks, "one of "+strings.Join(pattern.KnownNames(), ", ")+
			", or an existing file")
	}
	p, err = netgraph.ReadPattern(file)
	return p, d.asGiven(err)
}

// asGiven calls the pattern's file in an error as the user does.
func (d *Draft) asGiven(err error) error {
	var bad *badinput.Error
	if errors.As(err, &bad) {
		bad.File = d.talks
	}
	return err
}
