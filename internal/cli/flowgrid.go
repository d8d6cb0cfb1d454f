package cli

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/badinput"
	"github.com/godwit-hpc/godwit/internal/platform"
	"github.com/godwit-hpc/godwit/internal/policy/flow"
	"github.com/godwit-hpc/godwit/internal/progress"
	"github.com/godwit-hpc/godwit/internal/wfformat"
	"github.com/godwit-hpc/godwit/internal/yamlfile"
)

// maxSites bounds the table of routes between sites. Hosts of a YAML cluster
// share one link and are one site; in SimGrid XML every host has its own ways.
const maxSites = 3000

// loadDAG reads a workflow as planning sees it.
func loadDAG(file string) (*flow.DAG, error) {
	w, err := wfformat.Load(file)
	if err != nil {
		return nil, err
	}
	tasks := make([]flow.Task, len(w.Tasks))
	for i, t := range w.Tasks {
		tasks[i] = flow.Task{Name: t.ID, Work: t.Seconds, Memory: t.Memory, Cores: t.Cores}
	}
	edges := make([]flow.Edge, len(w.Needs))
	for i, n := range w.Needs {
		edges[i] = flow.Edge{From: n.From, To: n.To, Bytes: float64(n.Bytes)}
	}
	d, err := flow.NewDAG(tasks, edges)
	if err != nil {
		return nil, &badinput.Error{File: file, Want: "a workflow that can be planned", Err: err}
	}
	return d, nil
}

// loadGrid reads a platform as planning sees it.
func loadGrid(file string) (*platform.Platform, *flow.Grid, error) {
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
	g, err := flowGrid(file, p, !xml)
	return p, g, err
}

// flowGrid turns clusters into sites; whole says that a cluster is one.
func flowGrid(file string, p *platform.Platform, whole bool) (*flow.Grid, error) {
	var hosts []flow.Host
	var ends [][2]platform.Place // of each site two hosts, the same if it has one
	for c := range p.Clusters {
		for h, host := range p.Clusters[c].Hosts {
			here := platform.Place{Cluster: c, Host: h}
			if h == 0 || !whole {
				ends = append(ends, [2]platform.Place{here, here})
			} else {
				ends[len(ends)-1][1] = here
			}
			hosts = append(hosts, flow.Host{Name: host.Name, Site: len(ends) - 1, Cores: host.Cores, Speed: host.Speed, Memory: host.Memory})
		}
	}
	if len(ends) > maxSites {
		return nil, &badinput.Error{File: file, Value: strconv.Itoa(len(ends)) + " sites",
			Want: "at most " + strconv.Itoa(maxSites) + " clusters, or hosts of a SimGrid platform, to plan on"}
	}
	var err error
	g := flow.NewGrid(hosts, len(ends), func(from, to int) flow.Route {
		r, ok := p.Route(ends[from][0], ends[to][1])
		if !ok && err == nil {
			a, b := p.Clusters[ends[from][0].Cluster].Name, p.Clusters[ends[to][0].Cluster].Name
			err = &badinput.Error{File: file, Field: "links", Value: a + "-" + b, Want: "a way between all clusters, so that files can follow the tasks; here there is none"}
		}
		return flow.Route{Latency: r.Ms / 1e3, PerByte: 8 / (r.Mbps * 1e6)}
	})
	return g, err
}

// nobody turns a task that cannot run into the line for the user.
func nobody(file string, d *flow.DAG, err error) error {
	var e *flow.NobodyError
	if !errors.As(err, &e) {
		return err
	}
	t := d.Tasks[e.Task]
	var needs []string
	if t.Memory > 0 {
		needs = append(needs, progress.Thousands(t.Memory)+" bytes of memory")
	}
	if t.Cores > 1 {
		needs = append(needs, plural(int64(t.Cores), "core"))
	}
	return &badinput.Error{File: file, Field: "task", Value: t.Name,
		Want: "a host with " + strings.Join(needs, " and ") + "; the platform has none"}
}
