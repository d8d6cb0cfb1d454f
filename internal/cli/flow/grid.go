package flow

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/flowfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/format/wfformat"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/live/flowrun"
	"github.com/godwit-hpc/godwit/internal/report/progress"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
	"github.com/godwit-hpc/godwit/internal/sim/flowsim"
)

// maxSites bounds the table of routes between sites. Hosts of a YAML cluster
// share one link and are one site; in SimGrid XML every host has its own ways.
const maxSites = 3000

// A flowInput is what a file says, as planning sees it.
type flowInput struct {
	flow  *flowfile.Flow     // nil: it is WfFormat
	wf    *wfformat.Workflow // nil: it is YAML
	dag   *flow.DAG
	kinds []string
	prior func(kind, class int) float64 // what is known of kinds of tasks on single clusters; nil: nothing
}

// isYAML tells our own format from WfFormat, which is JSON, plain or packed.
func isYAML(file string) bool {
	return strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml")
}

// loadFlow reads a workflow for the clusters of a platform.
func (a *app) loadFlow(file string, p *platform.Platform) (*flowInput, error) {
	if !isYAML(file) {
		return loadWfFormat(file)
	}
	f, err := flowfile.Load(file, a.fileOptions())
	if err != nil {
		return nil, err
	}
	clusters := make([]flow.Host, len(p.Clusters))
	for i, c := range p.Clusters {
		clusters[i] = flow.Host{Name: c.Name, Class: i, Speed: 1}
		if len(c.Hosts) > 0 {
			clusters[i].Speed = c.Hosts[0].Speed
		}
	}
	w := &flowInput{flow: f, kinds: f.Kinds}
	w.dag, w.prior, err = flowrun.BuildDAG(f, clusters, nil)
	return w, err
}

// fileOptions is what job files and workflows do not say themselves.
func (a *app) fileOptions() jobfile.Options {
	dir, _ := os.Getwd() // without one, relative paths stay relative
	return jobfile.Options{Now: a.Now(), Dir: dir, Environ: os.Environ()}
}

// loadWfFormat reads a workflow as recorded. The kind of a task is read from its id.
func loadWfFormat(file string) (*flowInput, error) {
	w, err := wfformat.Load(file)
	if err != nil {
		return nil, err
	}
	x := &flowInput{wf: w}
	index := map[string]int{}
	tasks := make([]flow.Task, len(w.Tasks))
	for i, t := range w.Tasks {
		kind, known := index[kindOf(t.ID)]
		if !known {
			kind = len(x.kinds)
			index[kindOf(t.ID)] = kind
			x.kinds = append(x.kinds, kindOf(t.ID))
		}
		tasks[i] = flow.Task{Name: t.ID, Work: t.Seconds, Memory: t.Memory, Cores: t.Cores, Kind: kind}
	}
	edges := make([]flow.Edge, len(w.Needs))
	for i, n := range w.Needs {
		edges[i] = flow.Edge{From: n.From, To: n.To, Bytes: float64(n.Bytes), Files: n.Files}
	}
	if x.dag, err = flow.NewDAG(tasks, edges); err != nil {
		return nil, &badinput.Error{File: file, Want: "a workflow that can be planned", Err: err}
	}
	return x, nil
}

// loadGrid reads a platform as planning sees it.
func loadGrid(file string) (*flowsim.Grid, *flow.Grid, error) {
	const most = 64 << 20 // bytes
	data, err := yamlfile.ReadFile(file, "a platform file", most)
	if err != nil {
		return nil, nil, err
	}
	p, err := platform.Parse(file, data)
	if err != nil {
		return nil, nil, err
	}
	xml := bytes.HasPrefix(bytes.TrimSpace(data), []byte("<"))
	g := flowsim.NewGrid(p, !xml)
	if g.Sites > maxSites {
		return nil, nil, &badinput.Error{File: file, Value: strconv.Itoa(g.Sites) + " sites",
			Want: "at most " + strconv.Itoa(maxSites) + " clusters, or hosts of a SimGrid platform, to plan on"}
	}
	plan := flow.NewGrid(g.Hosts, g.Sites, g.Route)
	if g.Cut[0] != "" {
		err = &badinput.Error{File: file, Field: "links", Value: g.Cut[0] + "-" + g.Cut[1],
			Problem: "no route between these clusters, so files could not follow the tasks"}
	}
	return g, plan, err
}

// explainNobody turns a task that cannot run into the line for the user.
func explainNobody(file string, d *flow.DAG, err error) error {
	var e *flow.NobodyError
	if !errors.As(err, &e) {
		return err
	}
	t := d.Tasks[e.Task]
	var needs []string
	if t.Memory > 0 {
		needs = append(needs, progress.FormatThousands(t.Memory)+" bytes of memory")
	}
	if n := max(t.Cores, t.Wide); n > 1 {
		needs = append(needs, term.PluralNoun(int64(n), "core"))
	}
	if t.Only != nil {
		needs = append(needs, "a name among those in on")
	}
	return &badinput.Error{File: file, Field: "task", Value: t.Name,
		Want: "a host with " + strings.Join(needs, " and ") + "; the platform has none"}
}
