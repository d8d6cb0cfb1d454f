package broker

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// DrainView is what became of a cluster, or of a host of it, that was to be drained or to be
// used again.
type DrainView struct {
	Cluster string
	Host    string      // "": all of the cluster
	Changed bool        // false: it was so before
	Jobs    int         // that are still there
	Drain   *core.Drain // nil: it is not drained
	Text    string      // one line for people
}

// drainTarget is what a name stands for.
type drainTarget struct {
	name    string
	cluster *cluster
	host    string
}

// maxDrainReason is how many bytes a reason may have: it is part of a sentence.
const maxDrainReason = 300

// DrainClusters has nothing new placed on clusters, or on hosts of them, CLUSTER/HOST. What
// runs there runs on. If one of the names is wrong, nothing is done.
func (b *Broker) DrainClusters(ctx context.Context, names []string, reason string) ([]DrainView, error) {
	reason = strings.TrimSpace(reason)
	if strings.ContainsFunc(reason, unicode.IsControl) || len(reason) > maxDrainReason {
		return nil, &badinput.Error{Field: "--reason", Value: reason,
			Want: fmt.Sprintf("one line of at most %d characters", maxDrainReason)}
	}
	return b.changeDrains(ctx, names, core.DrainCluster, reason)
}

// UndrainClusters has clusters and hosts used again that were drained.
func (b *Broker) UndrainClusters(ctx context.Context, names []string) ([]DrainView, error) {
	return b.changeDrains(ctx, names, core.UndrainCluster, "")
}

func (b *Broker) changeDrains(ctx context.Context, names []string, kind core.InputKind,
	reason string) ([]DrainView, error) {
	if err := b.CheckAdministrator(ctx); err != nil {
		return nil, err
	}
	who, err := b.requestUser(ctx)
	if err != nil {
		return nil, err
	}
	var targets []drainTarget
	for _, name := range names {
		target, err := b.findDrainTarget(name, kind)
		if err != nil {
			return nil, err
		}
		targets = append(targets, target)
	}
	if len(targets) == 0 {
		return nil, &badinput.Error{Field: "names", Want: "at least one cluster, or host as CLUSTER/HOST"}
	}
	var list []DrainView
	err = b.askLoop(ctx, func(t *turn) {
		for _, target := range targets {
			id := target.cluster.id
			was := b.eng.FindDrain(id, target.host) != nil
			t.stepEngine(&core.Input{Kind: kind, Cluster: id,
				Drain: &core.Drain{Host: target.host, By: who.Name, Reason: reason}})
			v := DrainView{Cluster: target.cluster.Name, Host: target.host, Jobs: b.eng.JobsOn(id, target.host)}
			if d := b.eng.FindDrain(id, target.host); d != nil {
				now := *d
				v.Drain = &now
			}
			v.Changed = was != (v.Drain != nil)
			v.Text = b.drainText(&target, &v)
			list = append(list, v)
		}
	})
	if err != nil {
		return nil, err
	}
	for _, v := range list {
		if v.Changed {
			b.opt.Log.Info("drain changed", "cluster", v.Cluster, "host", v.Host, "drained", v.Drain != nil, "by", who.Name,
				"reason", reason)
		}
	}
	return list, nil
}

// findDrainTarget is the cluster or the host that a user names; an error names those that
// there are.
func (b *Broker) findDrainTarget(name string, kind core.InputKind) (drainTarget, error) {
	clusterName, host, ofHost := strings.Cut(name, "/")
	c, err := b.targetCluster("cluster", clusterName)
	if err != nil || !ofHost {
		return drainTarget{name: name, cluster: c}, err
	}
	if c.Managed {
		return drainTarget{}, &badinput.Error{Field: "host", Value: name,
			Problem: fmt.Sprintf("the batch system of %s chooses its hosts, and drains one itself: %s", c.Name,
				managerCommand(c, host, kind))}
	}
	names := hostNames(c)
	if kind == core.UndrainCluster { // it may be gone since
		for _, d := range b.drainsOf(c) {
			if d.Host != "" {
				names = append(names, d.Host)
			}
		}
	}
	for _, known := range names {
		if host == known {
			return drainTarget{name: name, cluster: c, host: host}, nil
		}
	}
	want := badinput.UnknownName("host of "+c.Name, host, names)
	if len(names) == 0 {
		want = fmt.Sprintf("a host that is known: %s has not said yet which it has", c.Name)
	}
	return drainTarget{}, &badinput.Error{Field: "host", Value: name, Want: want}
}

// managerCommand is how a batch system is told not to use a host, or to use it again.
func managerCommand(c *cluster, host string, kind core.InputKind) string {
	drains := kind == core.DrainCluster
	switch {
	case managerOf(c.Kind) == jobfile.Slurm && drains:
		return "scontrol update nodename=" + host + " state=drain reason=…"
	case managerOf(c.Kind) == jobfile.Slurm:
		return "scontrol update nodename=" + host + " state=resume"
	case drains:
		return "qmod -d '*@" + host + "'"
	}
	return "qmod -e '*@" + host + "'"
}

// hostNames lists the names of the hosts that the broker chooses among; none where it does
// not, or does not know them.
func hostNames(c *cluster) []string {
	if c.Managed || len(c.HostNames) != len(c.Hosts) {
		return nil
	}
	return c.HostNames
}

// drainText says what became of a target.
func (b *Broker) drainText(target *drainTarget, v *DrainView) string {
	whole := b.eng.FindDrain(target.cluster.id, "")
	switch {
	case v.Drain != nil && v.Changed:
		text := target.name + " is drained: nothing new is placed there, and no job is there"
		if v.Jobs == 1 {
			return target.name + " is drained: nothing new is placed there; 1 job runs on to its end"
		} else if v.Jobs > 1 {
			return fmt.Sprintf("%s is drained: nothing new is placed there; %d jobs run on to their end", target.name, v.Jobs)
		}
		return text
	case v.Drain != nil:
		return "nothing changed: " + v.Drain.Sentence(v.Cluster)
	case v.Host != "" && whole != nil:
		return fmt.Sprintf("%s is not drained by itself, but %s", target.name, whole.Sentence(v.Cluster))
	case v.Changed:
		return target.name + " is used again"
	}
	text := "nothing changed: " + target.name + " is not drained"
	var hosts []string
	for _, d := range b.eng.Cluster(target.cluster.id).Drains {
		if d.Host != "" {
			hosts = append(hosts, v.Cluster+"/"+d.Host)
		}
	}
	if len(hosts) > 0 && v.Host == "" {
		text += "; of its hosts these are: " + strings.Join(hosts, ", ")
	}
	return text
}

// publishDrains lets those beside the loop know what of a cluster is drained.
func (t *turn) publishDrains(c *cluster) {
	now := t.b.eng.Drains(c.id)
	if was := c.drains.Load(); was == nil && len(now) == 0 || was != nil && sameDrains(*was, now) {
		return
	}
	c.drains.Store(&now)
}

// sameDrains compares lists that are replaced whenever they change.
func sameDrains(a, b []core.Drain) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// drainsOf lists what of a cluster is drained, as of the last turn.
func (b *Broker) drainsOf(c *cluster) []core.Drain {
	if list := c.drains.Load(); list != nil {
		return *list
	}
	return nil
}

// drainSentence says that all of a cluster is drained; "" if it is not.
func (c *cluster) drainSentence() string {
	if list := c.drains.Load(); list != nil {
		for i := range *list {
			if d := &(*list)[i]; d.Host == "" {
				return d.Sentence(c.Name)
			}
		}
	}
	return ""
}
