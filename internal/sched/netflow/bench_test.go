package netflow

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// A traffic keeps a number of flows under way over the five clusters of the
// DAS-3: for each that ends, another begins.
type traffic struct {
	net    *Net
	p      *platform.Platform
	random *rand.Rand
	place  func() platform.RouteEnd
	next   ID
}

func newTraffic(b *testing.B, flows int, hosts bool) *traffic {
	p, err := platform.Load(filepath.Join("..", "..", "..", "examples", "platforms", "das3.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	links := make([]Link, len(p.Links))
	for i, l := range p.Links {
		links[i] = Link{l.Mbps, l.Shared}
	}
	t := &traffic{net: New(links), p: p, random: rand.New(rand.NewPCG(1, 2))}
	t.place = func() platform.RouteEnd {
		c := t.random.IntN(len(p.Clusters))
		if !hosts {
			return platform.FrontEndOf(c)
		}
		return platform.RouteEnd{Cluster: c, Host: t.random.IntN(len(p.Clusters[c].Hosts))}
	}
	for range flows {
		t.start(0)
	}
	return t
}

func (t *traffic) start(now core.Time) {
	from, to := t.place(), t.place()
	for from == to {
		to = t.place()
	}
	r, _ := t.p.FindRoute(from, to)
	t.net.Start(now, t.next, r.Links, 1+t.random.Int64N(1e9), r.Latency())
	t.next++
}

// event goes to the next event, and replaces what ended there.
func (t *traffic) event() {
	now := t.net.NextEvent()
	for range t.net.Advance(now) {
		t.start(now)
	}
}

func BenchmarkEvent(b *testing.B) {
	for _, flows := range []int{1000, 10000} {
		for _, hosts := range []bool{false, true} {
			name := fmt.Sprintf("flows=%d/between=front_ends", flows)
			if hosts {
				name = fmt.Sprintf("flows=%d/between=hosts", flows)
			}
			b.Run(name, func(b *testing.B) {
				t := newTraffic(b, flows, hosts)
				for range 2 * flows { // until all have passed their latency, and some have ended
					if now := t.net.NextEvent(); now > core.AtSecond(0.01) {
						break
					}
					t.event()
				}
				b.ReportAllocs()
				for b.Loop() {
					t.event()
				}
			})
		}
	}
}
