package weather

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/netgraph"
	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// static is a network that a file describes.
type static struct {
	number map[string]int // of hosts, and of clusters where the file has them
	hosts  []string       // without the clusters
	mbps   func(i, j int) float64
	ms     func(i, j int) float64
}

// mostStatic bounds the hosts of such a file: all pairs are worked out.
const mostStatic = 5000

// ReadDescription has the book fall back on a file for what was not measured: a
// bandwidth graph (JSON, CSV matrix) or a platform (YAML, SimGrid XML). Hosts
// have the names that the broker knows them by; those of a platform also those of
// its clusters.
func (b *Book) ReadDescription(path string) error {
	s, err := readStatic(path)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.static = s
	return nil
}

func readStatic(path string) (*static, error) {
	data, err := yamlfile.ReadFile(path, "a network or platform file", 64<<20)
	if err != nil {
		return nil, err
	}
	if text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff"))); isPlatform(text) {
		p, err := platform.Parse(path, data)
		if err != nil {
			return nil, err
		}
		return fromPlatform(path, p)
	}
	n, err := netgraph.ParseNetwork(path, data)
	if err != nil {
		return nil, err
	}
	return fromGraph(path, n)
}

// isPlatform tells a platform from a graph: XML, or YAML with clusters.
func isPlatform(text []byte) bool {
	if bytes.HasPrefix(text, []byte("<")) {
		return true
	}
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("clusters:")) {
			return true
		}
	}
	return false
}

func fromGraph(path string, n *nodesel.Network) (*static, error) {
	if len(n.Hosts) > mostStatic {
		return nil, tooMany(path, len(n.Hosts))
	}
	pairs, ms, err := n.WidestLatencies()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s := &static{number: map[string]int{}, mbps: pairs.PairBandwidth, ms: ms, hosts: slices.Clone(n.Hosts)}
	for i, h := range n.Hosts {
		s.number[h] = i
	}
	return s, nil
}

func fromPlatform(path string, p *platform.Platform) (*static, error) {
	s := &static{number: map[string]int{}}
	var places []platform.RouteEnd
	for c := range p.Clusters {
		s.number[p.Clusters[c].Name] = len(places)
		places = append(places, platform.FrontEndOf(c))
		for h := range p.Clusters[c].Hosts {
			s.number[p.Clusters[c].Hosts[h].Name] = len(places)
			s.hosts = append(s.hosts, p.Clusters[c].Hosts[h].Name)
			places = append(places, platform.RouteEnd{Cluster: c, Host: h})
		}
	}
	if len(places) > mostStatic {
		return nil, tooMany(path, len(places))
	}
	s.mbps = func(i, j int) float64 {
		if r, ok := p.FindRoute(places[i], places[j]); ok && len(r.Links) > 0 {
			return r.Mbps
		}
		return 0
	}
	s.ms = func(i, j int) float64 {
		r, _ := p.FindRoute(places[i], places[j])
		return r.Ms
	}
	return s, nil
}

func tooMany(path string, n int) error {
	return &badinput.Error{File: path, Field: "hosts", Value: fmt.Sprint(n), Want: fmt.Sprintf("at most %d", mostStatic)}
}

// described is how far what is described, or was measured long ago, is from what is
// had, as the deviation of a logarithm.
const described = 0.3

// describedBetween is what the file says of two hosts.
func (s *static) describedBetween(from, to string) (PathForecast, bool) {
	if s == nil {
		return PathForecast{}, false
	}
	i, known := s.number[from]
	j, alsoKnown := s.number[to]
	if !known || !alsoKnown || i == j {
		return PathForecast{}, false
	}
	mbps := s.mbps(i, j)
	if mbps <= 0 {
		return PathForecast{}, false
	}
	return PathForecast{Mbps: predict.LogNormal(mbps, described), Ms: s.ms(i, j), Of: [2]string{from, to}}, true
}

// DescribedHosts are the hosts that the description names, by name.
func (b *Book) DescribedHosts() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.static == nil {
		return nil
	}
	return slices.Sorted(slices.Values(b.static.hosts))
}
