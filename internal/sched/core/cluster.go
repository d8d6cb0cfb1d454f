package core

import "slices"

// ClusterSpec is what a cluster consists of.
type ClusterSpec struct {
	Name string `json:"name"`
	// fastest first, if the order is to mean anything: low processor numbers are used first; none: not known yet
	Hosts    []HostSpec `json:"hosts,omitempty"`
	KeepFree int        `json:"keepFree,omitempty"` // processors always left to local users
	GrowFree int        `json:"growFree,omitempty"` // processors that growing leaves free besides: room for who comes next
	// has a queue of its own: we hand jobs over, it decides when they start
	Managed  bool `json:"managed,omitempty"`
	Depth    int  `json:"depth,omitempty"`    // processors that our jobs may wait for in that queue; 0: no limit
	Reserves bool `json:"reserves,omitempty"` // can hold processors between placement and start
	// managed, and its manager can be asked for processors for a job that runs, and given them back
	Resizes bool `json:"resizes,omitempty"`
	Removed bool `json:"removed,omitempty"` // nobody is sent there any more; who runs there runs on
	// hosts of other clusters reach none of its own, nor these them
	Isolated bool `json:"isolated,omitempty"`
}

// HostSpec is one host of a cluster.
type HostSpec struct {
	Name   string  `json:"name,omitempty"` // by which it is drained; "": its manager chooses hosts, or nobody knows
	Procs  int     `json:"procs"`
	Speed  float64 `json:"speed,omitempty"`  // relative to the reference host
	Memory int64   `json:"memory,omitempty"` // bytes; 0 if unknown
}

// TotalProcs is the number of processors of all hosts.
func (s *ClusterSpec) TotalProcs() int {
	n := 0
	for i := range s.Hosts {
		n += s.Hosts[i].Procs
	}
	return n
}

// Equal reports whether two clusters consist of the same.
func (s *ClusterSpec) Equal(t *ClusterSpec) bool {
	return slices.Equal(s.Hosts, t.Hosts) && s.Name == t.Name && s.KeepFree == t.KeepFree && s.GrowFree == t.GrowFree &&
		s.Managed == t.Managed && s.Depth == t.Depth && s.Reserves == t.Reserves &&
		s.Resizes == t.Resizes && s.Removed == t.Removed && s.Isolated == t.Isolated
}

// IsValid reports whether there can be such a cluster.
func (s *ClusterSpec) IsValid() bool {
	for i := range s.Hosts {
		h := &s.Hosts[i]
		if h.Procs < 0 || h.Procs > maxProcs || h.Memory < 0 || !(h.Speed >= 0 && h.Speed < maxSpeed) {
			return false
		}
	}
	return s.TotalProcs() <= maxProcs && s.KeepFree >= 0 && s.GrowFree >= 0 && s.Depth >= 0
}

// maxSpeed is more than any processor has, relative to the reference host.
const maxSpeed = 1e6
