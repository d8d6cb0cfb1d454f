package lab

import (
	"fmt"
	"time"
)

// Plan describes a lab.
type Plan struct {
	File     string // where it stands; "" if it was not read from a file
	Name     string
	Users    []string // they exist only inside the lab
	WAN      Link     // between sites; a site is a cluster, or the head
	Head     HostPlan // the host on which a broker runs
	Clusters []ClusterPlan
}

// Link is what a connection can do.
type Link struct {
	Mbps  float64       // million bits a second; 0: not limited
	Delay time.Duration // one way
}

// HostPlan is what one host is like.
type HostPlan struct {
	CPUs   float64 // processors' worth of time; 0: not limited
	Mbps   float64 // of its link; 0: not limited
	Memory int64   // bytes; 0: not limited
}

// ClusterPlan describes hosts NAME1, NAME2, … and, if a manager runs there, a
// host NAME0 for its daemons.
type ClusterPlan struct {
	Name    string
	Manager string // None, or the name under which one is registered
	Hosts   int
	Cores   int      // processors that the manager counts on each host
	Share   Share    // what of each host a broker leaves alone; plain machines only
	Host    HostPlan // of each host
	Head    HostPlan // of NAME0
	WAN     Link     // of this site
}

// Share is what a broker leaves alone of the cores of a cluster, by the names of its settings.
type Share struct {
	KeepFree int `json:",omitempty"` // always left to others
	GrowFree int `json:",omitempty"` // of the others, not given to malleable jobs that run already
}

// None is the manager of plain machines.
const None = "none"

// HeadName is the name of the host on which a broker runs, and of its site.
const HeadName = "head"

// What a plan may ask for. The addresses and names of interfaces are made with
// these bounds in mind.
const (
	maxClusters = 32
	maxHosts    = 64 // altogether
	maxUsers    = 50
	maxCores    = 1024
	maxMbps     = 100_000
	maxDelay    = 10 * time.Second
	minCPUs     = 0.05 // a millisecond in 20
	maxCPUs     = 1024
)

// TotalHosts is the number of hosts.
func (p *Plan) TotalHosts() int {
	n := 1
	for i := range p.Clusters {
		n += p.Clusters[i].Hosts
		if p.Clusters[i].Manager != None {
			n++
		}
	}
	return n
}

// checkPlan finds what cannot be made, in a plan from wherever; the reader tells
// the same with lines.
func (p *Plan) checkPlan() error {
	if err := goodName("the lab", p.Name, maxLabName); err != nil {
		return err
	}
	seen := map[string]bool{HeadName: true}
	for i := range p.Clusters {
		c := &p.Clusters[i]
		if err := goodName("a cluster", c.Name, maxClusterName); err != nil {
			return err
		}
		if c.Hosts < 1 {
			return fmt.Errorf("the cluster %s has no hosts", c.Name)
		}
		for _, h := range c.hostNames() {
			if seen[h] {
				return fmt.Errorf("two hosts would have the name %s", h)
			}
			seen[h] = true
		}
	}
	for _, u := range p.Users {
		if err := goodName("a user", u, maxUserName); err != nil {
			return err
		}
	}
	if n := p.TotalHosts(); n > maxHosts || len(p.Clusters) > maxClusters || len(p.Users) > maxUsers {
		return fmt.Errorf("a lab has at most %d hosts, %d clusters and %d users; this one %d, %d and %d", maxHosts,
			maxClusters, maxUsers, n, len(p.Clusters), len(p.Users))
	}
	return nil
}

// hostNames are those of a cluster's hosts, the head first if there is one.
func (c *ClusterPlan) hostNames() []string {
	var names []string
	if c.Manager != None {
		names = append(names, c.Name+"0")
	}
	for i := range c.Hosts {
		names = append(names, fmt.Sprintf("%s%d", c.Name, i+1))
	}
	return names
}

const (
	maxLabName     = 40
	maxClusterName = 40
	maxUserName    = 30
)

const wantName = "a name of small letters, digits and -, beginning with a letter"

// goodName reports whether a name can be that of a host, a user, a folder and a
// cgroup alike.
func goodName(whose, name string, most int) error {
	ok := name != "" && len(name) <= most
	for i, c := range []byte(name) {
		ok = ok && (c >= 'a' && c <= 'z' || i > 0 && (c >= '0' && c <= '9' || c == '-'))
	}
	if !ok {
		return fmt.Errorf("%q is no name for %s: %s (at most %d) is", name, whose, wantName, most)
	}
	return nil
}
