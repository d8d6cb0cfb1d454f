package runlog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

const (
	format  = "godwit-run-log"
	version = 1
)

// None is the name of no malleability policy: sizes never change.
const None = "none"

// Header is what a run began with.
type Header struct {
	World  world.Spec
	Engine engine.Config
	About  json.RawMessage // whatever the caller wants to know of the run
}

// The types below are the header as it is written.

type headerLine struct {
	Format  string          `json:"format"`
	Version int             `json:"version"`
	About   json.RawMessage `json:"about,omitempty"`
	Engine  engine.Config   `json:"engine"`
	World   worldLine       `json:"world"`
}

type worldLine struct {
	Clusters []clusterLine    `json:"clusters"`
	Files    []fileLine       `json:"files,omitempty"`
	Paths    [][]pathLine     `json:"paths,omitempty"`
	MaxTries int              `json:"max_tries,omitempty"`
	Place    core.PlacePolicy `json:"place"`
}

type clusterLine struct {
	Name     string     `json:"name"`
	Hosts    []hostLine `json:"hosts"`
	KeepFree int        `json:"keep_free,omitempty"`
	GrowFree int        `json:"grow_free,omitempty"`
	Managed  bool       `json:"managed,omitempty"`
	Reserves bool       `json:"reserves,omitempty"`
	Depth    int        `json:"depth,omitempty"`
	Resizes  bool       `json:"resizes,omitempty"`
}

// hostLine is a run of equal hosts: clusters have thousands of them.
type hostLine struct {
	Count  int     `json:"count"`
	Procs  int     `json:"procs"`
	Speed  float64 `json:"speed"`
	Memory int64   `json:"memory,omitempty"`
}

type fileLine struct {
	Name  string           `json:"name"`
	Bytes int64            `json:"bytes"`
	At    []core.ClusterID `json:"at"`
}

type pathLine struct {
	Mbps    rate `json:"mbps"`
	Latency span `json:"latency"`
}

// rate is in Mbit/s, as text because within a cluster it has no bound.
type rate float64

func (r rate) MarshalText() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(r), 'g', -1, 64), nil
}

func (r *rate) UnmarshalText(b []byte) error {
	x, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !(x >= 0) {
		return fmt.Errorf("not a rate in Mbit/s: %q", b)
	}
	*r = rate(x)
	return nil
}

// span is a duration as text: 1m30s.
type span time.Duration

func (s span) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

func (s *span) UnmarshalText(b []byte) error {
	d, err := time.ParseDuration(string(b))
	if err == nil && d < 0 {
		err = fmt.Errorf("a duration below 0: %s", b)
	}
	*s = span(d)
	return err
}

func (h *Header) toLine() headerLine {
	l := headerLine{Format: format, Version: version, About: h.About, Engine: h.Engine}
	l.World = worldLine{MaxTries: h.World.MaxTries, Place: h.World.DefaultPlace}
	for _, c := range h.World.Clusters {
		l.World.Clusters = append(l.World.Clusters,
			clusterLine{c.Name, packHosts(c.Hosts), c.KeepFree, c.GrowFree, c.Managed, c.Reserves, c.Depth, c.Resizes})
	}
	for _, f := range h.World.Files {
		l.World.Files = append(l.World.Files, fileLine(f))
	}
	for _, row := range h.World.Paths {
		var ways []pathLine
		for _, p := range row {
			ways = append(ways, pathLine{rate(p.Mbps), span(p.Latency)})
		}
		l.World.Paths = append(l.World.Paths, ways)
	}
	return l
}

func packHosts(hosts []world.HostSpec) (runs []hostLine) {
	for _, h := range hosts {
		if n := len(runs); n > 0 && runs[n-1].toHost() == h {
			runs[n-1].Count++
		} else {
			runs = append(runs, hostLine{1, h.Procs, h.Speed, h.Memory})
		}
	}
	return runs
}

func (l hostLine) toHost() world.HostSpec {
	return world.HostSpec{Procs: l.Procs, Speed: l.Speed, Memory: l.Memory}
}

// toHeader is the inverse of Header.toLine; it assumes that check found nothing.
func (l *headerLine) toHeader() Header {
	h := Header{About: l.About, Engine: l.Engine}
	h.World = world.Spec{MaxTries: l.World.MaxTries, DefaultPlace: l.World.Place}
	for _, c := range l.World.Clusters {
		spec := world.ClusterSpec{Name: c.Name, KeepFree: c.KeepFree, GrowFree: c.GrowFree, Managed: c.Managed,
			Reserves: c.Reserves, Depth: c.Depth, Resizes: c.Resizes}
		for _, run := range c.Hosts {
			spec.Hosts = append(spec.Hosts, slices.Repeat([]world.HostSpec{run.toHost()}, run.Count)...)
		}
		h.World.Clusters = append(h.World.Clusters, spec)
	}
	for _, f := range l.World.Files {
		h.World.Files = append(h.World.Files, world.FileSpec(f))
	}
	for _, row := range l.World.Paths {
		var ways []world.Path
		for _, p := range row {
			ways = append(ways, world.Path{Mbps: float64(p.Mbps), Latency: time.Duration(p.Latency)})
		}
		h.World.Paths = append(h.World.Paths, ways)
	}
	return h
}
