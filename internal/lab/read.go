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

// Load reads a plan from a file.
func Load(path string) (*Plan, error) {
	data, err := yamlfile.ReadFile(path, "a plan of a lab", maxFile)
	if err != nil {
		return nil, err
	}
	return Read(path, data)
}

// Read reads a plan; name is the file as the user knows it, and the plan's name
// where it gives none.
func Read(name string, data []byte) (*Plan, error) {
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
	found := top.Mapping(
		yamlfile.Key("name", func(v yamlfile.Value) { p.Name = plainName(v, maxLabName) }),
		yamlfile.Key("users", func(v yamlfile.Value) { p.Users = readUsers(v) }),
		yamlfile.Key("network", func(v yamlfile.Value) {
			v.Mapping(yamlfile.Key("wan", func(v yamlfile.Value) { p.WAN = readLink(v, Link{}) }))
		}),
		yamlfile.Key("head", func(v yamlfile.Value) { p.Head = readHost(v) }),
		yamlfile.Later("clusters", &clusters),
	)
	if !found.Has("name") && !top.Failed() {
		p.Name = nameOfFile(top.File())
		if goodName("the lab", p.Name, maxLabName) != nil {
			found.Need("name", "the lab's name")
		}
	}
	found.Need("clusters", "a list of clusters")
	if clusters.Given() {
		p.Clusters = readClusters(clusters, p.WAN)
	}
	if !top.Failed() && p.Total() > maxHosts {
		clusters.Fail("", fmt.Sprintf("at most %d hosts altogether, with the heads; there would be %d", maxHosts, p.Total()))
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
	if !v.Failed() && goodName("", name, most) != nil {
		v.Wrong(fmt.Sprintf("%s (at most %d)", wantName, most))
	}
	return name
}

func readUsers(v yamlfile.Value) []string {
	var users []string
	for v := range v.List("users") {
		name := plainName(v, maxUserName)
		switch {
		case v.Failed():
		case name == "root" || slices.Contains(users, name):
			v.Wrong("each user once, and not root")
		case len(users) == maxUsers:
			v.Fail("", fmt.Sprintf("at most %d users", maxUsers))
		}
		users = append(users, name)
	}
	return users
}

// readLink is a link; what is left out is as in the usual one.
func readLink(v yamlfile.Value, usual Link) Link {
	l := usual
	v.Mapping(
		yamlfile.Key("mbps", func(v yamlfile.Value) { l.Mbps = v.Positive(maxMbps) }),
		yamlfile.Key("ms", func(v yamlfile.Value) {
			l.Delay = time.Duration(v.Number(0, float64(maxDelay/time.Millisecond)) * float64(time.Millisecond))
		}),
	)
	return l
}

func hostFields(h *HostPlan) []yamlfile.Field {
	return []yamlfile.Field{
		yamlfile.Key("cpus", func(v yamlfile.Value) { h.CPUs = v.Number(minCPUs, maxCPUs) }),
		yamlfile.Key("mbps", func(v yamlfile.Value) { h.Mbps = v.Positive(maxMbps) }),
		yamlfile.Key("memory", func(v yamlfile.Value) { h.Memory = v.Size(16 << 20) }),
	}
}

func readHost(v yamlfile.Value) HostPlan {
	var h HostPlan
	v.Mapping(hostFields(&h)...)
	return h
}

func readClusters(v yamlfile.Value, wan Link) []ClusterPlan {
	var list []ClusterPlan
	hosts := map[string]bool{HeadName: true}
	for v := range v.List("clusters") {
		c := readCluster(v, wan)
		if v.Failed() {
			break
		}
		for _, name := range c.hostNames() {
			if hosts[name] {
				v.Fail(c.Name, "a name with which no two hosts are called alike; there would be two of the name "+name)
			}
			hosts[name] = true
		}
		list = append(list, c)
		if len(list) > maxClusters {
			v.Fail("", fmt.Sprintf("at most %d clusters", maxClusters))
		}
	}
	return list
}

func readCluster(v yamlfile.Value, wan Link) ClusterPlan {
	c := ClusterPlan{Manager: None, Hosts: 1, Cores: 1, WAN: wan}
	fields := append(hostFields(&c.Host),
		yamlfile.Key("name", func(v yamlfile.Value) { c.Name = plainName(v, maxClusterName) }),
		yamlfile.Key("manager", func(v yamlfile.Value) { c.Manager = plainName(v, maxClusterName) }),
		yamlfile.Key("hosts", func(v yamlfile.Value) { c.Hosts = v.Whole(1, maxHosts) }),
		yamlfile.Key("cores", func(v yamlfile.Value) { c.Cores = v.Whole(1, maxCores) }),
		yamlfile.Key("head", func(v yamlfile.Value) { c.Head = readHost(v) }),
		yamlfile.Key("wan", func(v yamlfile.Value) { c.WAN = readLink(v, wan) }),
	)
	found := v.Mapping(fields...)
	found.Need("name", "the cluster's name")
	if c.Manager == None && found.Has("head") {
		found.Fail("head", "", "only with a manager: plain machines have no head")
	}
	if name := c.Name; !v.Failed() && name[len(name)-1] >= '0' && name[len(name)-1] <= '9' {
		found.Fail("name", name, "a name that does not end in a digit: its hosts are numbered")
	}
	return c
}
