package sim

import (
	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/netflow"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// network carries input files between clusters.
type network struct {
	platform *platform.Platform
	net      *netflow.Net
	flows    map[netflow.ID]delivery
	last     netflow.ID
}

// delivery is a file on its way to a part of a task.
type delivery struct {
	task *task
	part int
}

// newNetwork takes the links of the platform, and tells the engine's world the
// paths between clusters and where the files are.
func newNetwork(p *platform.Platform, spec *world.Spec) *network {
	links := make([]netflow.Link, len(p.Links))
	for i, l := range p.Links {
		links[i] = netflow.Link{Mbps: l.Mbps, Shared: l.Shared}
	}
	n := &network{platform: p, net: netflow.New(links), flows: map[netflow.ID]delivery{}}
	if len(p.Files) == 0 {
		return n // nothing will ever be moved: the paths do not matter
	}
	for _, f := range p.Files {
		file := world.FileSpec{Name: f.Name, Bytes: f.Bytes}
		for _, c := range f.At {
			file.At = append(file.At, core.ClusterID(c))
		}
		spec.Files = append(spec.Files, file)
	}
	spec.Paths = make([][]world.Path, len(p.Clusters))
	for a := range p.Clusters {
		spec.Paths[a] = make([]world.Path, len(p.Clusters))
		for b := range p.Clusters {
			if r, ok := p.FindRoute(platform.FrontEndOf(a), platform.FrontEndOf(b)); ok {
				spec.Paths[a][b] = world.Path{Mbps: r.Mbps, Latency: r.Latency()}
			}
		}
	}
	return n
}

// nextEvent is when something happens on the network.
func (n *network) nextEvent() core.Time { return n.net.NextEvent() }

// advanceTo hands out what has arrived by now.
func (n *network) advanceTo(s *Simulator, now core.Time) {
	if n.net.NextEvent() > now {
		return
	}
	for _, f := range n.net.Advance(now) {
		if d, wanted := n.flows[f.ID]; wanted {
			delete(n.flows, f.ID)
			s.fileArrived(d.task, d.part)
		}
	}
	s.drainInbox()
}

// cancelFlows stops what is on its way to a task.
func (n *network) cancelFlows(t *task, now core.Time) {
	for _, id := range t.flows {
		if _, under := n.flows[id]; under {
			n.net.Cancel(now, id)
			delete(n.flows, id)
		}
	}
	t.flows = nil
}

// stageFiles sends the files that a part lacks in its cluster, all at once: they
// share the links among each other as with everybody else.
func (s *Simulator) stageFiles(t *task, c *core.Command) {
	w := s.eng.World()
	p := t.partAt(c.Part)
	p.cluster, p.files = c.Cluster, 1 // one for the loop: files that are there arrive at once
	component := w.Job(c.Job).Part(c.Part).Component()
	for _, f := range t.job.Spec.Components[component].Inputs {
		from, _, ok := w.NearestReplica(f, c.Cluster)
		if !ok || from == c.Cluster {
			continue // the engine does not place a part where a file cannot come
		}
		route, _ := s.net.platform.FindRoute(platform.FrontEndOf(int(from)), platform.FrontEndOf(int(c.Cluster)))
		s.net.last++
		s.net.flows[s.net.last] = delivery{t, c.Part}
		s.net.net.Start(s.now, s.net.last, route.Links, s.spec.Files[f].Bytes, route.Latency())
		t.flows = append(t.flows, s.net.last)
		p.files++
	}
	s.fileArrived(t, c.Part)
}

// fileArrived counts a file; with the last one the part is staged.
func (s *Simulator) fileArrived(t *task, part int) {
	p := t.partAt(part)
	if p.files--; p.files == 0 {
		s.tellEngine(core.Input{Kind: core.Staged, Job: t.job.Spec.ID, Epoch: t.epoch, Part: part})
	}
}
