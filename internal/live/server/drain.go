package server

import (
	"net/http"
	"slices"

	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func (s *server) drainClusters(r *http.Request) ([]api.Drained, error) {
	asked, err := readBody[api.Drains](r)
	if err != nil {
		return nil, err
	}
	views, err := s.Broker.DrainClusters(r.Context(), asked.Names, asked.Reason)
	return drainedFromViews(views), err
}

func (s *server) undrainClusters(r *http.Request) ([]api.Drained, error) {
	asked, err := readBody[api.Drains](r)
	if err != nil {
		return nil, err
	}
	views, err := s.Broker.UndrainClusters(r.Context(), asked.Names)
	return drainedFromViews(views), err
}

func drainedFromViews(views []broker.DrainView) []api.Drained {
	list := make([]api.Drained, 0, len(views))
	for _, v := range views {
		d := api.Drained{Cluster: v.Cluster, Host: v.Host, Changed: v.Changed, Jobs: v.Jobs, Text: v.Text}
		if v.Drain != nil {
			now := drainFrom(v.Drain)
			d.Drain = &now
		}
		list = append(list, d)
	}
	return list
}

func drainFrom(d *core.Drain) api.Drain {
	return api.Drain{Host: d.Host, By: d.By, Since: api.TimeAt(d.Since), Reason: d.Reason}
}

// addDrains says what of a cluster is drained.
func addDrains(c *api.Cluster, v *broker.ClusterView) {
	for i := range slices.Backward(v.Drains) {
		d := drainFrom(&v.Drains[i])
		sentence := v.Drains[i].Sentence(v.Name)
		if d.Host != "" {
			c.DrainedHosts = append(c.DrainedHosts, d)
		} else if c.Drain = &d; c.State == "up" {
			c.State = "drained"
			if v.Running+v.Waiting > 0 {
				c.State = "draining"
			}
		}
		if c.Why != "" {
			sentence += "; " + c.Why
		}
		c.Why = sentence
	}
}
