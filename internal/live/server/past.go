package server

import (
	"context"
	"net/http"

	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

func (s *server) listClusters(r *http.Request) ([]api.Cluster, error) {
	return s.clusterList(r.Context(), true)
}

// clusterList lists the clusters, and which checkpoint methods work there if that is wanted:
// they may have to be asked.
func (s *server) clusterList(ctx context.Context, methods bool) ([]api.Cluster, error) {
	views, err := s.Broker.ListClusters(ctx)
	list := make([]api.Cluster, 0, len(views))
	for _, v := range views {
		c := api.Cluster{Name: v.Name, State: "up", Driver: v.Kind, Hosts: max(len(v.Hosts), len(v.HostNames)),
			Procs: v.Procs, Idle: v.Idle, Others: v.Others, Speed: v.Speed,
			Share: v.Share, Running: v.Running, Waiting: v.Waiting, Methods: []string{}, Why: v.Why, Notes: v.Notes}
		if v.Away {
			c.State = "down"
		}
		c.Asking = v.Cluster.Away != nil && !v.Removed
		if v.Procs == 0 || v.Unmeasured {
			c.Speed = 0 // nobody knows yet
		}
		addDrains(&c, &v)
		if v.Removed {
			c.State, c.Why = "removed", "its jobs run to their end"
		}
		if v.Methods != nil && methods {
			c.Methods = v.Methods(ctx)
		}
		c.Reliability = reliabilityMean(v.Reliability)
		c.Ended, c.Succeeded = v.Reliability.Requested, v.Reliability.SucceededAttempts()
		list = append(list, c)
	}
	return list, err
}

func (s *server) listHistory(r *http.Request) ([]api.History, error) {
	past, err := s.Broker.ListHistory(r.Context(), r.FormValue("program"))
	list := make([]api.History, 0, len(past))
	for _, p := range past {
		list = append(list, summariseRuns(p.Program, p.Cluster, p.Runs))
	}
	return list, err
}

// summariseRuns is what runs of one program in one cluster were like.
func summariseRuns(program, cluster string, runs []history.Run) api.History {
	h := api.History{Program: program, Cluster: cluster, Runs: len(runs)}
	var need, wall, wait []float64
	for i := range runs {
		r := &runs[i]
		if r.Outcome == history.Failed || r.Outcome == history.Lost {
			h.Failed++
		}
		if r.Deadline != 0 && r.Outcome == history.Finished && r.Ended > r.Deadline {
			h.Missed++
		}
		if r.Need > 0 {
			need = append(need, r.Need)
		}
		if w, ok := r.WaitSeconds(); ok {
			wait = append(wait, w)
			wall = append(wall, r.WallSeconds())
		}
	}
	h.CPUP50, h.CPUP90 = quantileOf(need, 0.5), quantileOf(need, 0.9)
	h.WallP50, h.WallP90 = quantileOf(wall, 0.5), quantileOf(wall, 0.9)
	h.WaitMean, h.WaitP90 = meanOf(wait), quantileOf(wait, 0.9)
	known := history.ReliabilityOf(runs)
	h.Reliability, h.Ended, h.Succeeded = reliabilityMean(known), known.Requested, known.SucceededAttempts()
	if len(runs) > 0 {
		h.Last = api.TimeAt(runs[0].Ended)
	}
	return h
}

func reliabilityMean(r history.Reliability) *float64 {
	if !r.IsKnown() {
		return nil
	}
	m := r.Mean()
	return &m
}

func (s *server) showCalibration(r *http.Request) (api.Calibration, error) {
	held, err := s.Broker.QuoteCalibration(r.Context())
	c := api.Calibration{Jobs: held.Quotes, Predictions: held.Quotes, Bands: []api.Coverage{}, Chances: []api.Held{}}
	if held.Quotes > 0 {
		c.MedianError = &held.Error
		c.Bands = []api.Coverage{{Band: 0.8, Held: held.Band80, Count: held.Quotes},
			{Band: 0.9, Held: held.Band90, Count: held.Quotes}}
	}
	for _, d := range held.Deadlines {
		c.Chances = append(c.Chances, api.Held{From: d.From, To: d.To, Mean: d.Mean, Met: d.Met, Count: d.N})
	}
	return c, err
}
