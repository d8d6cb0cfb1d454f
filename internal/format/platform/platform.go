package platform

import "fmt"

// Limits on what a file may describe. They are far above any real grid, and
// keep a slip of the keyboard from filling the memory.
const (
	maxHosts      = 1_000_000
	maxProcessors = 10_000_000
	maxLinks      = 2_500_000 // of a SimGrid file
	maxFileBytes  = 64 << 20
)

// A Platform is a grid as a file describes it. It does not change after it was
// read, and may be used from several goroutines.
type Platform struct {
	Name     string
	Clusters []Cluster
	Links    []Link
	Files    []File
	Notes    []string // what the file says that has no equivalent here

	hosts    map[string]RouteEnd
	clusters map[string]int
	router   router
}

// A Cluster is a group of hosts behind one front end.
type Cluster struct {
	Name     string
	Hosts    []Host
	Procs    int   // cores of all hosts together
	Local    Local // its own queue
	Queue    int   // processors that jobs may wait for in it; 0: any number
	KeepFree int   // processors always left to local users
	GrowFree int   // processors that growing leaves free besides
	Reserves bool  // its local manager can reserve processors
}

// A Host runs one task per core at a time.
type Host struct {
	Name   string
	Cores  int
	Speed  float64 // relative to the reference host: a task of t seconds takes t / Speed
	Memory int64   // bytes; 0 when the file does not say
}

// A Link carries data in one direction.
type Link struct {
	Name   string
	Mbps   float64
	Ms     float64
	Shared bool // false: a fat pipe, every flow may use the whole rate
}

// A File lies ready at some clusters.
type File struct {
	Name  string
	Bytes int64
	At    []int // indices into Clusters, rising
}

// Local is the queue that a cluster runs by itself.
type Local int

// The local managers.
const (
	LocalNone Local = iota // the broker hands out the processors
	LocalFCFS              // first come, first served
	LocalEASY              // EASY backfilling
)

var localNames = [...]string{"none", "fcfs", "easy"}

func (l Local) String() string {
	if l < 0 || int(l) >= len(localNames) {
		return fmt.Sprintf("local(%d)", int(l))
	}
	return localNames[l]
}

// ParseLocal is the inverse of Local.String.
func ParseLocal(s string) (Local, bool) {
	for i, name := range localNames {
		if s == name {
			return Local(i), true
		}
	}
	return LocalNone, false
}

// FindCluster finds a cluster by its name.
func (p *Platform) FindCluster(name string) (int, bool) {
	c, ok := p.clusters[name]
	return c, ok
}

// ClusterNames are the names of all clusters, in their order.
func (p *Platform) ClusterNames() []string {
	names := make([]string, len(p.Clusters))
	for i := range names {
		names[i] = p.Clusters[i].Name
	}
	return names
}

// FreeProblem says what is wrong with keeping so many processors free in the
// cluster, nothing if all is well: growing must not be ruled out altogether.
func (c *Cluster) FreeProblem(keep, grow int) string {
	if keep+grow < c.Procs {
		return ""
	}
	return fmt.Sprintf("keep_free and grow_free together below the %d cores of the cluster, not %d", c.Procs, keep+grow)
}

// FindHost finds a host by its name, which is unique over the platform.
func (p *Platform) FindHost(name string) (RouteEnd, bool) {
	at, ok := p.hosts[name]
	return at, ok
}

// TotalProcs is the number of cores of all clusters together.
func (p *Platform) TotalProcs() int {
	sum := 0
	for i := range p.Clusters {
		sum += p.Clusters[i].Procs
	}
	return sum
}
