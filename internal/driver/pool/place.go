package pool

import (
	"fmt"
	"slices"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// part is where an attempt runs: its hosts, the agent's first.
type part struct {
	first int
	hosts []wire.Host
	held  core.ProcSet // of the first host, as that one numbers them; nil: any
}

// placeAttempt says where an attempt runs: always the same for the same attempt, whoever
// asks, as it is told again after a crash. The processors were chosen by the engine, on
// one host where the program shares memory and one is large enough. Where none is, and
// where its script asks for more hosts than they lie on, the number of processors is
// what was given, and on which hosts they are is for the sake of the program.
func (d *Driver) placeAttempt(a *wire.Attempt) (part, error) {
	procs := max(a.Procs, a.Held.CountProcs(), 1)
	want := a.Spec.Nodes
	if a.Spec.Manager.Kind != "" { // its script was written for other hosts
		want = min(want, len(d.members))
	}
	if want > len(d.members) {
		return part{}, fmt.Errorf("%w: it is to be spread over %d hosts, there are %d", driver.ErrRefused, want,
			len(d.members))
	}
	on := d.procsPerHost(a)
	first := 0
	for i := range on {
		if on[i] > on[first] {
			first = i
		}
	}
	switch {
	case want <= 1 && (want == 1 || procs <= d.members[first].Procs):
		held := d.procsOnHost(a.Held, first)
		if held.CountProcs() != procs {
			held = nil
		}
		return part{first: first, hosts: []wire.Host{{Name: d.members[first].Name, Procs: procs}}, held: held}, nil
	case want > countUsed(on):
		on = d.spreadEvenly(first, want, procs)
	}
	if ordered, ok := d.inOrder(a.Order, on); ok {
		return ordered, nil
	}
	p := part{first: first, hosts: []wire.Host{{Name: d.members[first].Name, Procs: on[first]}}}
	for i, n := range on {
		if i != first && n > 0 {
			p.hosts = append(p.hosts, wire.Host{Name: d.members[i].Name, Procs: n})
		}
	}
	return p, nil
}

// inOrder is the hosts in the order that suits the program, if that names just
// those on which its processors lie.
func (d *Driver) inOrder(order []string, on []int) (part, bool) {
	var p part
	for i, name := range order {
		m := slices.IndexFunc(d.members, func(m Member) bool { return m.Name == name })
		if m < 0 || on[m] == 0 || slices.ContainsFunc(p.hosts, func(h wire.Host) bool { return h.Name == name }) {
			return part{}, false
		}
		if i == 0 {
			p.first = m
		}
		p.hosts = append(p.hosts, wire.Host{Name: name, Procs: on[m]})
	}
	return p, len(order) > 0 && len(order) == countUsed(on)
}

// procsPerHost is how many of the attempt's processors lie on each host. One that was
// given none in particular goes where its number says.
func (d *Driver) procsPerHost(a *wire.Attempt) []int {
	on := make([]int, len(d.members))
	if len(a.Held) == 0 {
		first := int(a.Job) % len(on)
		for i, left := 0, max(a.Procs, 1); left > 0; i++ {
			m := (first + i) % len(on)
			n := min(left, max(d.members[m].Procs, 1))
			if i >= len(on) {
				n = left
			}
			on[m] += n
			left -= n
		}
		return on
	}
	for i := range on {
		on[i] = d.procsOnHost(a.Held, i).CountProcs()
	}
	return on
}

// procsOnHost is what of a set of processors lies on a host, numbered from its own first.
func (d *Driver) procsOnHost(set core.ProcSet, host int) core.ProcSet {
	begin := int32(0)
	for i := range host {
		begin += int32(d.members[i].Procs)
	}
	end := begin + int32(d.members[host].Procs)
	var in core.ProcSet
	for _, r := range set {
		if lo, hi := max(r.Lo, begin), min(r.Hi, end); lo < hi {
			in = append(in, core.Range{Lo: lo - begin, Hi: hi - begin})
		}
	}
	return in
}

// spreadEvenly deals processors out evenly to so many hosts, from the first on.
func (d *Driver) spreadEvenly(first, hosts, procs int) []int {
	on := make([]int, len(d.members))
	for i := range hosts {
		on[(first+i)%len(on)] = procs*(i+1)/hosts - procs*i/hosts
	}
	return on
}

func countUsed(on []int) int {
	n := 0
	for _, k := range on {
		if k > 0 {
			n++
		}
	}
	return n
}
