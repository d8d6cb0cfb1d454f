package core

import (
	"strconv"
	"time"
)

// Drain is that nothing new is placed on a cluster, or on one host of it. What runs there
// runs on to its end.
type Drain struct {
	Host   string `json:"host,omitempty"` // by its name; "": all of the cluster
	By     string `json:"by,omitempty"`   // who asked for it
	Reason string `json:"reason,omitempty"`
	Since  Time   `json:"since,omitempty"`
}

// Sentence says what was drained, by whom, since when, and why.
func (d *Drain) Sentence(cluster string) string {
	text := "cluster " + cluster + " has been drained"
	if d.Host != "" {
		text = "host " + d.Host + " of cluster " + cluster + " has been drained"
	}
	if d.By != "" {
		text += " by " + d.By
	}
	text += " since " + momentText(d.Since)
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return text
}

// momentText is a moment as people read it. It names UTC: a log is read anywhere. The clock
// of a simulation begins at 0, which is no date.
func momentText(t Time) string {
	const year = 365 * 24 * time.Hour
	if t < Time(year) {
		return FormatSeconds(t.Seconds()) + " after the start"
	}
	return time.Unix(0, int64(t)).UTC().Format("2006-01-02 15:04:05 UTC")
}

// WhyText is the reason of an event as a sentence; cluster is the name of the cluster that
// the event names. Of a drain, and of clusters that are apart, it says more than the reason
// alone can.
func (e *Event) WhyText(cluster string) string {
	if e.Between != nil && e.Why.Code == HostsApart {
		return ApartSentence(e.Between[0], e.Between[1])
	}
	if e.Drain == nil || !e.Why.IsDrain() {
		return e.Why.String()
	}
	text := e.Drain.Sentence(cluster)
	others, what := e.Why.B-1, "cluster where it may run"
	if e.Why.Code == HostIsDrained {
		what = "host of it"
	}
	switch {
	case others == 1:
		text += " (1 other " + what + " is drained too)"
	case others > 1 && e.Why.Code == HostIsDrained:
		text += " (" + strconv.Itoa(int(others)) + " other hosts of it are drained too)"
	case others > 1:
		text += " (" + strconv.Itoa(int(others)) + " other clusters where it may run are drained too)"
	}
	return text
}

// IsDrain reports whether the reason is that cluster A, or a host of it, was drained. B counts
// all clusters, or all hosts of it, of which that keeps the job away.
func (r Reason) IsDrain() bool { return r.Code == ClusterIsDrained || r.Code == HostIsDrained }
