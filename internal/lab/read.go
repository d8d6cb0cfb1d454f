package lab

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// maxFile bounds how much of a file is read: plans are short.
const maxFile = 1 << 20

// LoadPlan reads a plan from a file.
func LoadPlan(path string) (*Plan, error) {
	data, err := yamlfile.ReadFile(path, "a plan of a lab", maxFile)
	if err != nil {
		return nil, err
	}
	return ReadPlan(path, data)
}

// ReadPlan reads a plan; name is the file as the user knows it, and the plan's name
// where it gives none.
func ReadPlan(name string, data []byte) (*Plan, error) {
	top, err := yamlfile.Parse(name, "a plan of a lab", data)
	if err != nil {
		return nil, err
	}
	p := readPlan(top)
	if err := top.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

func readPlan(top yamlfile.Value) *Plan {
	p := &Plan{File: top.File()}
	var clusters yamlfile.Value
	found := top.ReadMapping(
		yamlfile.ReadField("name", func(v yamlfile.Value) { p.Name = plainName(v, maxLabName) }),
		yamlfile.ReadField("users", func(v yamlfile.Value) { p.Users = readUsers(v) }),
		yamlfile.ReadField("network", func(v yamlfile.Value) {
			v.ReadMapping(yamlfile.ReadField("wan", func(v yamlfile.Value) { p.WAN = readLink(v, Link{}) }))
		}),
		yamlfile.ReadField("head", func(v yamlfile.Value) { p.Head = readHost(v) }),
		yamlfile.DeferField("clusters", &clusters),
	)
	if !found.HasField("name") && !top.HasFailed() {
		p.Name = nameOfFile(top.File())
		if goodName("the lab", p.Name, maxLabName) != nil {
			found.RequireField("name", "the lab's name")
		}
	}
	found.RequireField("clusters", "a list of clusters")
	if clusters.IsGiven() {
		p.Clusters = readClusters(clusters, p.WAN)
	}
	if !top.HasFailed() && p.TotalHosts() > maxHosts {
		clusters.ReportError("", fmt.Sprintf("at most %d hosts altogether, with the heads; there would be %d", maxHosts,
			p.TotalHosts()))
	}
	return p
}

// nameOfFile is what a plan is called that has no name.
func nameOfFile(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

func plainName(v yamlfile.Value, most int) string {
	name := v.Text(wantName)
	if !v.HasFailed() && goodName("", name, most) != nil {
		v.ReportWrong(fmt.Sprintf("%s (at most %d)", wantName, most))
	}
	return name
}

func readUsers(v yamlfile.Value) []string {
	var users []string
	for v := range v.EachItem("users") {
		name := plainName(v, maxUserName)
		switch {
		case v.HasFailed():
		case name == "root" || slices.Contains(users, name):
			v.ReportWrong("each user once, and not root")
		case len(users) == maxUsers:
			v.ReportError("", fmt.Sprintf("at most %d users", maxUsers))
		}
		users = append(users, name)
	}
	return users
}

// readLink is a link; what is left out is as in the usual one.
func readLink(v yamlfile.Value, usual Link) Link {
	l := usual
	v.ReadMapping(
		yamlfile.ReadField("mbps", func(v yamlfile.Value) { l.Mbps = v.PositiveNumber(maxMbps) }),
		yamlfile.ReadField("ms", func(v yamlfile.Value) {
			l.Delay = time.Duration(v.Number(0, float64(maxDelay/time.Millisecond)) * float64(time.Millisecond))
		}),
	)
	return l
}

func hostFields(h *HostPlan) []yamlfile.Field {
	return []yamlfile.Field{
		yamlfile.ReadField("cpus", func(v yamlfile.Value) { h.CPUs = v.Number(minCPUs, maxCPUs) }),
		yamlfile.ReadField("mbps", func(v yamlfile.Value) { h.Mbps = v.PositiveNumber(maxMbps) }),
		yamlfile.ReadField("memory", func(v yamlfile.Value) { h.Memory = v.Size(16 << 20) }),
	}
}

func readHost(v yamlfile.Value) HostPlan {
	var h HostPlan
	v.ReadMapping(hostFields(&h)...)
	return h
}

func readClusters(v yamlfile.Value, wan Link) []ClusterPlan {
	var list []ClusterPlan
	hosts := map[string]bool{HeadName: true}
	for v := range v.EachItem("clusters") {
		c := readCluster(v, wan)
		if v.HasFailed() {
			break
		}
		for _, name := range c.hostNames() {
			if hosts[name] {
				v.ReportError(c.Name, "a name with which no two hosts are called alike; there would be two of the name "+name)
			}
			hosts[name] = true
		}
		list = append(list, c)
		if len(list) > maxClusters {
			v.ReportError("", fmt.Sprintf("at most %d clusters", maxClusters))
		}
	}
	return list
}

func readCluster(v yamlfile.Value, wan Link) ClusterPlan {
	c := ClusterPlan{Manager: None, Hosts: 1, Cores: 1, WAN: wan}
	fields := append(hostFields(&c.Host),
		yamlfile.ReadField("name", func(v yamlfile.Value) { c.Name = plainName(v, maxClusterName) }),
		yamlfile.ReadField("manager", func(v yamlfile.Value) { c.Manager = plainName(v, maxClusterName) }),
		yamlfile.ReadField("hosts", func(v yamlfile.Value) { c.Hosts = v.WholeNumber(1, maxHosts) }),
		yamlfile.ReadField("cores", func(v yamlfile.Value) { c.Cores = v.WholeNumber(1, maxCores) }),
		yamlfile.ReadField("keep_free", func(v yamlfile.Value) { c.Share.KeepFree = v.WholeNumber(0, maxCores) }),
		yamlfile.ReadField("grow_free", func(v yamlfile.Value) { c.Share.GrowFree = v.WholeNumber(0, maxCores) }),
		yamlfile.ReadField("head", func(v yamlfile.Value) { c.Head = readHost(v) }),
		yamlfile.ReadField("wan", func(v yamlfile.Value) { c.WAN = readLink(v, wan) }),
	)
	found := v.ReadMapping(fields...)
	found.RequireField("name", "the cluster's name")
	if c.Manager == None && found.HasField("head") {
		found.FailField("head", "", "only with a manager: plain machines have no head")
	}
	c.checkShare(found)
	if name := c.Name; !v.HasFailed() && name[len(name)-1] >= '0' && name[len(name)-1] <= '9' {
		found.FailField("name", name, "a name that does not end in a digit: its hosts are numbered")
	}
	return c
}

// checkShare refuses a share that a broker would refuse.
func (c *ClusterPlan) checkShare(found yamlfile.Found) {
	for _, key := range []string{"keep_free", "grow_free"} {
		if found.HasField(key) && c.Manager != None {
			found.FailField(key, "", "only for plain machines: a batch system gives its cores to whom it likes")
		}
	}
	switch s := c.Share; {
	case s.KeepFree >= c.Cores:
		found.FailField("keep_free", fmt.Sprint(s.KeepFree), fmt.Sprintf("fewer than the %d cores of a host", c.Cores))
	case s.KeepFree+s.GrowFree > c.Cores:
		found.FailField("grow_free", fmt.Sprint(s.GrowFree),
			fmt.Sprintf("at most the %d cores that keep_free leaves", c.Cores-s.KeepFree))
	}
}
