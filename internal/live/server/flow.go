package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/flowrun"
	"github.com/godwit-hpc/godwit/internal/live/workflow"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func (s *server) submitFlow(r *http.Request) (api.FlowSubmitted, error) {
	spec, err := readBody[api.FlowSubmit](r)
	if err != nil {
		return api.FlowSubmitted{}, err
	}
	spec.RestoreMoments()
	flows, err := s.workflows()
	if err != nil {
		return api.FlowSubmitted{}, err
	}
	id, err := flows.SubmitFlow(r.Context(), &spec)
	return api.FlowSubmitted{ID: id}, err
}

// workflows is who keeps them.
func (s *server) workflows() (*workflow.Service, error) {
	if s.Flows == nil {
		return nil, &badinput.Error{Problem: "this broker takes no workflows"}
	}
	return s.Flows, nil
}

// aboutFlow makes an answer of a question about the workflow that a request names.
func aboutFlow[T any](s *server,
	ask func(flows *workflow.Service, ctx context.Context, ref string) (T, error)) http.HandlerFunc {
	return answerJSON(func(r *http.Request) (T, error) {
		flows, err := s.workflows()
		if err != nil {
			var none T
			return none, err
		}
		return ask(flows, r.Context(), r.PathValue("id"))
	})
}

func (s *server) listFlows(r *http.Request) ([]api.Flow, error) {
	flows, err := s.workflows()
	if err != nil {
		return nil, err
	}
	return flows.ListFlows(r.Context(), r.FormValue("all") != "", r.FormValue("users") != "")
}

func explainFlow(flows *workflow.Service, ctx context.Context, ref string) ([]api.Decision, error) {
	submitted, entries, err := flows.ExplainFlow(ctx, ref)
	if err != nil {
		return nil, err
	}
	return flowDecisions(submitted, entries), nil
}

// flowDecisions is what was decided for a workflow, as the surface has it.
func flowDecisions(submitted core.Time, entries []wire.Entry) []api.Decision {
	list := decisionsFromEntries(submitted, entries)
	for i := range list {
		switch list[i].Kind {
		case "plan", "start", "submit", "end":
			list[i].News = false
		default:
			list[i].News = true
		}
	}
	return list
}

// watchFlow streams the states of a workflow.
func (s *server) watchFlow(w http.ResponseWriter, r *http.Request) {
	flows, err := s.workflows()
	if err != nil {
		refuseRequest(w, err)
		return
	}
	flush := http.NewResponseController(w)
	out := json.NewEncoder(w)
	begun := false
	err = flows.WatchFlow(r.Context(), r.PathValue("id"), func(f *api.Flow, news []wire.Entry) error {
		begun = true
		submitted := core.Time(0)
		if f.Submitted != nil {
			submitted = core.Time(f.Submitted.UnixNano())
		}
		if err := out.Encode(api.FlowLive{Flow: *f, News: flowDecisions(submitted, news), Final: f.IsOver()}); err != nil {
			return err
		}
		return flush.Flush()
	})
	finishStream(w, err, begun)
}

// FlowPort is a broker as a run of a user's workflow asks it.
func FlowPort(b *broker.Broker, owner broker.User, work string) flowrun.Broker {
	return &flowPort{s: &server{Options{Broker: b}}, owner: owner, work: work}
}

type flowPort struct {
	s     *server
	owner broker.User
	work  string
}

func (p *flowPort) as(ctx context.Context) context.Context { return broker.WithUser(ctx, p.owner) }

// ListClusters implements flowrun.Broker.
func (p *flowPort) ListClusters(ctx context.Context) ([]api.Cluster, error) {
	return p.s.clusterList(p.as(ctx), false)
}

// EstimateCommands implements flowrun.Broker.
func (p *flowPort) EstimateCommands(ctx context.Context, c *api.Commands) ([]api.Estimate, error) {
	return p.s.estimateAll(p.as(ctx), c), nil
}

// SubmitTask implements flowrun.Broker.
func (p *flowPort) SubmitTask(ctx context.Context, job *jobfile.Job, inputs []string,
	made []api.Made) (core.JobID, error) {
	return p.s.Broker.SubmitTask(p.as(ctx), job, p.work, inputs, made)
}

// MigrateJob implements flowrun.Broker.
func (p *flowPort) MigrateJob(ctx context.Context, id, to string) (api.Done, error) {
	text, err := p.s.Broker.MigrateJob(p.as(ctx), id, to)
	return api.Done{Text: text}, err
}

// CancelJob implements flowrun.Broker.
func (p *flowPort) CancelJob(ctx context.Context, id string) (api.Job, error) {
	v, err := p.s.Broker.CancelJob(p.as(ctx), id)
	if err != nil {
		return api.Job{}, err
	}
	return p.s.jobFromView(v), nil
}

// WatchJob implements flowrun.Broker.
func (p *flowPort) WatchJob(ctx context.Context, ref string, see func(*api.Live) error) error {
	return p.s.Broker.FollowJob(p.as(ctx), ref, func(v *broker.View, _ []wire.Entry) error {
		return see(&api.Live{Job: p.s.jobFromView(v), Final: v.Over})
	})
}

// CopyLogs implements flowrun.Broker.
func (p *flowPort) CopyLogs(ctx context.Context, id string, stream int, offset int64, follow bool,
	to io.Writer) (int64, error) {
	n := int64(0)
	err := p.s.Broker.CopyLogs(p.as(ctx), id, stream, offset, follow, func(data []byte) error {
		k, err := to.Write(data)
		n += int64(k)
		return err
	})
	return n, err
}
