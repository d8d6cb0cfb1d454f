package netgraph

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel"
)

// networkFile is the shape of a network on disk.
type networkFile struct {
	Hosts   []string   `json:"hosts"`
	Routers []string   `json:"routers"`
	Links   []linkFile `json:"links"`
	// CPU is the share of a processor that hosts have free; one that is not named
	// has all of it.
	CPU map[string]float64 `json:"cpu"`
}

type linkFile struct {
	A    string   `json:"a"`
	B    string   `json:"b"`
	Mbps *float64 `json:"mbps"`
	Ms   float64  `json:"ms"`
}

func parseJSON(name string, data []byte) (*nodesel.Network, error) {
	var f networkFile
	if err := decodeJSON(name, data, &f); err != nil {
		return nil, err
	}
	n := &nodesel.Network{Hosts: f.Hosts, Routers: f.Routers}
	numbers, err := numberHosts(name, f)
	if err != nil {
		return nil, err
	}
	first := map[[2]int]int{} // by ends: the first link that has them
	for i := range f.Links {
		l, err := f.Links[i].checkLink(numbers)
		ends := [2]int{min(l.A, l.B), max(l.A, l.B)}
		before, again := first[ends]
		if err == nil && again {
			err = f.Links[i].differenceFrom(&f.Links[before], before)
		}
		if err != nil {
			err.File, err.Field = name, fmt.Sprintf("links[%d]%s", i, err.Field)
			return nil, err
		}
		if !again {
			first[ends] = i
			n.Links = append(n.Links, l)
		}
	}
	n.CPU, err = cpuShares(name, f, numbers)
	return n, err
}

// cpuShares is the free share of each host, nil if the file says nothing of it.
func cpuShares(name string, f networkFile, numbers map[string]int) ([]float64, error) {
	if f.CPU == nil {
		return nil, nil
	}
	shares := slices.Repeat([]float64{1}, len(f.Hosts))
	for _, host := range slices.Sorted(maps.Keys(f.CPU)) {
		share := f.CPU[host]
		h, known := numbers[host]
		switch {
		case !known || h >= len(f.Hosts):
			return nil, &badinput.Error{File: name, Field: "cpu", Value: host, Want: "a name from hosts"}
		case !(share >= 0 && share <= 1):
			return nil, &badinput.Error{File: name, Field: "cpu." + host, Value: formatNumber(share),
				Want: "a share from 0 to 1"}
		}
		shares[h] = share
	}
	return shares, nil
}

// numberHosts gives hosts and then routers their numbers, by name.
func numberHosts(name string, f networkFile) (map[string]int, error) {
	if len(f.Hosts) < 2 || len(f.Hosts) > maxHosts {
		return nil, &badinput.Error{File: name, Field: "hosts",
			Want: fmt.Sprintf("a list of 2 to %d names, it has %d", maxHosts, len(f.Hosts))}
	}
	numbers := make(map[string]int, len(f.Hosts)+len(f.Routers))
	enter := func(list string, names []string) error {
		for i, host := range names {
			field := fmt.Sprintf("%s[%d]", list, i)
			if host == "" {
				return &badinput.Error{File: name, Field: field, Want: "a name that is not empty"}
			}
			if _, twice := numbers[host]; twice {
				return &badinput.Error{File: name, Field: field, Value: host, Want: "a name that no other host or router has"}
			}
			numbers[host] = len(numbers)
		}
		return nil
	}
	if err := enter("hosts", f.Hosts); err != nil {
		return nil, err
	}
	return numbers, enter("routers", f.Routers)
}

// checkLink checks one link. The field of the error is that inside the link.
func (l *linkFile) checkLink(numbers map[string]int) (nodesel.Link, *badinput.Error) {
	a, knownA := numbers[l.A]
	b, knownB := numbers[l.B]
	switch {
	case !knownA:
		return nodesel.Link{}, unknownEnd(".a", l.A)
	case !knownB:
		return nodesel.Link{}, unknownEnd(".b", l.B)
	case a == b:
		return nodesel.Link{}, &badinput.Error{Field: ".b", Value: l.B, Want: "another host or router than a"}
	case l.Mbps == nil:
		return nodesel.Link{}, &badinput.Error{Field: ".mbps", Problem: "missing", Want: "the bandwidth in Mbit/s"}
	case !(*l.Mbps > 0):
		return nodesel.Link{}, &badinput.Error{Field: ".mbps", Value: formatNumber(*l.Mbps),
			Want: "a number above 0; leave out a link that carries nothing"}
	case !(l.Ms >= 0):
		return nodesel.Link{}, &badinput.Error{Field: ".ms", Value: formatNumber(l.Ms), Want: "a number of at least 0"}
	}
	return nodesel.Link{A: a, B: b, Mbps: *l.Mbps, Ms: l.Ms}, nil
}

// differenceFrom is what is wrong with a link that a file has once more: a link is the
// same in both directions, so it may be written down for each, but with the same
// numbers. Which of two others was meant nobody knows.
func (l *linkFile) differenceFrom(before *linkFile, number int) *badinput.Error {
	same := func(x, y float64) bool { return math.Abs(x-y) <= equalWithin*math.Max(x, y) }
	e := &badinput.Error{}
	want := 0.0
	switch {
	case !same(*l.Mbps, *before.Mbps):
		e.Field, e.Value, want = ".mbps", formatNumber(*l.Mbps), *before.Mbps
	case !same(l.Ms, before.Ms):
		e.Field, e.Value, want = ".ms", formatNumber(l.Ms), before.Ms
	default:
		return nil
	}
	e.Want = fmt.Sprintf("%s, as links[%d] has it between %s and %s; a link is the same in both directions",
		formatNumber(want), number, before.A, before.B)
	return e
}

func unknownEnd(field, value string) *badinput.Error {
	if value == "" {
		return &badinput.Error{Field: field, Problem: "missing", Want: "a host or router"}
	}
	return &badinput.Error{Field: field, Value: value, Want: "a name from hosts or routers"}
}
