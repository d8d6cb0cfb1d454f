package server

import (
	"context"
	"math"
	"net/http"

	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// jobFromView is a job as the surface has it.
func (s *server) jobFromView(v *broker.View) api.Job {
	j := api.Job{ID: v.ID, UID: v.Unique, User: v.User, State: v.State, Cluster: v.Cluster, Hosts: v.Hosts, Why: v.Reason,
		Attempts: int(v.Epoch), Submitted: api.TimeAt(v.Submitted), Started: api.TimeAt(v.Started),
		Ended:    api.TimeAt(v.Ended),
		Deadline: api.TimeAt(v.Deadline), Migrations: v.Migrations, Checkpoints: v.Checkpoints, Method: v.Method, CPUS: v.CPU,
		WallS: v.Wall, WaitingS: v.Waiting,
		Peak: v.Peak, Failure: v.Failure, Warnings: v.Warnings,
		Partial: v.Partial, FilesLost: v.Lost, MissingOutputs: v.Missing, Unreturned: v.Unreturned}
	if j.Hosts == nil {
		j.Hosts = []string{}
	}
	if spec := v.CurrentSpec(); spec != nil {
		j.Name, j.Command, j.Procs, j.Confidence = spec.Name, spec.Argv, spec.Min, spec.Confidence
		j.Labels, j.On = spec.Labels, spec.On
		if v.Size > 0 {
			j.Procs = v.Size // a moldable or malleable job may have more than it needs
		} else if held, ok := core.ParseProcSet(v.Procs); ok && len(held) > 0 {
			j.Procs = held.CountProcs()
		}
	}
	j.Pending, j.Held, j.Suspended, j.Begin = v.Pending, v.Held, api.TimeAt(v.Suspended), api.TimeAt(v.NotBefore)
	for i := range v.Parts {
		p := api.JobPart{Cluster: v.Parts[i].Cluster, Hosts: v.Parts[i].Hosts, Started: v.Parts[i].Began}
		if v.Parts[i].Ended != 0 {
			p.ExitCode = &v.Parts[i].Code
		}
		j.Parts = append(j.Parts, p)
	}
	if v.Parent != 0 {
		j.Index, j.Array = &v.Index, v.Parent
	}
	if v.State.IsTerminal() {
		j.ExitCode = &v.Code
	}
	if v.State.IsWaiting() {
		j.Cluster = ""
	}
	s.addDeadline(&j, v)
	if v.Vitals != nil && !v.State.IsTerminal() {
		s.addVitals(&j, v)
	}
	return j
}

// addDeadline says whether it was met, or can be.
func (s *server) addDeadline(j *api.Job, v *broker.View) {
	if v.Deadline == 0 {
		return
	}
	switch {
	case v.State.IsTerminal():
		met := v.State == core.Done && v.Ended <= v.Deadline
		j.DeadlineMet = &met
	case s.Broker.CurrentTime() > v.Deadline:
		met := false
		j.DeadlineMet = &met
	case v.Known:
		j.PDeadline = &v.Chance
	}
	if j.DeadlineMet != nil {
		p := 0.0
		if *j.DeadlineMet {
			p = 1
		}
		j.PDeadline = &p
	}
}

// addVitals adds what the agent says of a job that runs.
func (s *server) addVitals(j *api.Job, v *broker.View) {
	x := v.Vitals
	j.CPUS += x.CPU
	j.WallS += x.Wall
	if v.State == core.Running && x.Wall+x.Prepared > 0 {
		j.WallS += max(s.Broker.CurrentTime().Sub(v.VitalsAt), 0).Seconds()
	}
	j.Memory, j.Peak = x.Memory, max(j.Peak, x.Peak)
	j.Share = &x.Share
	if x.Slowness > 0 {
		j.Slowness = &x.Slowness
	}
	if x.Done >= 0 {
		j.Progress = &x.Done
	}
	for i := range x.Hosts {
		h := &x.Hosts[i]
		usage := api.HostUsage{Host: h.Host, CPUS: h.CPU, Memory: h.Memory, Ranks: h.Ranks, EndedRanks: h.EndedRanks,
			Away: h.Away}
		if h.Share >= 0 {
			usage.Share = &h.Share
		}
		j.HostUsage = append(j.HostUsage, usage)
	}
	if d, ok := predict.FromQuantiles(x.Left); ok {
		end := func(p float64) *api.Time { return api.TimeAt(v.VitalsAt.Add(core.DurationFromSeconds(d.Quantile(p)))) }
		j.PredictedEnd, j.EndEarly, j.EndLate = end(0.5), end(0.05), end(0.95)
	}
}

// isNewsworthy are the kinds of decisions that whoever follows a job wants to hear
// of.
func isNewsworthy(kind string) bool {
	switch kind {
	case "move", "lost", "decide", "predict", "stay", "results", "sandbox", "warning", "message":
		return true
	}
	return false
}

// decisionsFromEntries is what was decided for a job or a workflow, as the surface has it.
func decisionsFromEntries(submitted core.Time, entries []wire.Entry) []api.Decision {
	list := make([]api.Decision, 0, len(entries))
	for _, e := range entries {
		d := api.Decision{SinceS: math.Round(e.At.Sub(submitted).Seconds()*1000) / 1000, Kind: e.Kind,
			Choice: e.Choice, Why: e.Why, Inputs: e.Inputs, News: isNewsworthy(e.Kind)}
		if t := api.TimeAt(e.At); t != nil {
			d.Time = *t
		}
		if d.Inputs == nil {
			d.Inputs = map[string]any{}
		}
		list = append(list, d)
	}
	return list
}

func (s *server) quoteJob(r *http.Request) ([]api.Quote, error) {
	sub, err := readBody[api.Submit](r)
	if err != nil {
		return nil, err
	}
	now := s.Broker.CurrentTime()
	quotes, err := s.Broker.QuoteJob(r.Context(), &sub.Job)
	list := make([]api.Quote, 0, len(quotes))
	for _, q := range quotes {
		a := api.Quote{Cluster: q.Cluster, Reason: q.Reason, Fits: q.Fits, WaitS: medianOf(q.Wait),
			TransferS: medianOf(q.Transfer), RunS: medianOf(q.Run)}
		if q.Finish.IsKnown() {
			a.FinishP50 = api.TimeAt(now.Add(core.DurationFromSeconds(q.Finish.Median())))
			a.FinishP90 = api.TimeAt(now.Add(core.DurationFromSeconds(q.Finish.Quantile(0.9))))
		}
		if q.Chance >= 0 {
			a.PDeadline = &q.Chance
		}
		list = append(list, a)
	}
	return list, err
}

func (s *server) estimateCommands(r *http.Request) ([]api.Estimate, error) {
	asked, err := readBody[api.Commands](r)
	if err != nil {
		return nil, err
	}
	return s.estimateAll(r.Context(), &asked), nil
}

func (s *server) estimateAll(ctx context.Context, asked *api.Commands) []api.Estimate {
	list := make([]api.Estimate, 0, len(asked.Commands))
	for _, c := range asked.Commands {
		d, same, why := s.Broker.EstimateCommand(ctx, c.Argv, c.Procs)
		e := api.Estimate{Waiting: d.Waiting, Reason: why, Same: same}
		if d.IsKnown() {
			run := d.Work.Median() / float64(max(1, c.Procs))
			e.RunS = &run
		}
		list = append(list, e)
	}
	return list
}

func medianOf(d predict.Dist) *float64 {
	if !d.IsKnown() {
		return nil
	}
	m := d.Median()
	return &m
}
