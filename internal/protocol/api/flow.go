package api

import (
	"context"
	"net/url"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/flowfile"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// FlowSubmit is a workflow to be run.
type FlowSubmit struct {
	// Key is made up by who submits. A workflow that its owner submitted with the same key
	// before is not submitted again.
	Key  string        `json:"key"`
	Flow flowfile.Flow `json:"flow"`
	// Moments are times of day that jobs of tasks name, by the place of the task.
	Moments map[int]FlowMoment `json:"moments,omitempty"`
	Work    string             `json:"work,omitempty"` // tree in the depot: the inputs that no task makes
	Env     map[string]string  `json:"env,omitempty"`  // of every task
	StopAll bool               `json:"stop_all,omitempty"`
	Routes  []FlowRoute        `json:"routes,omitempty"`
	// Resume has a workflow of this key that failed or was cancelled go on: what is not
	// done is tried again, and what made files that are absent now.
	Resume bool     `json:"resume,omitempty"`
	Absent []string `json:"absent,omitempty"`
}

// FlowMoment is a deadline, or the earliest start, of a task.
type FlowMoment struct {
	By    *time.Time `json:"by,omitempty"`
	Begin *time.Time `json:"begin,omitempty"`
}

// FlowRoute is how fast files come from one cluster to another.
type FlowRoute struct {
	From     string  `json:"from"`
	To       string  `json:"to"`
	LatencyS float64 `json:"latency_s"`
	PerByteS float64 `json:"per_byte_s"`
}

// KeepMoments takes down the times of day that jobs of tasks name, which their own form
// leaves out.
func (s *FlowSubmit) KeepMoments() {
	for i := range s.Flow.Tasks {
		j := s.Flow.Tasks[i].Job
		var m FlowMoment
		if j == nil || j.By.IsZero() && j.BeginAt.IsZero() {
			continue
		}
		if !j.By.IsZero() {
			m.By = &j.By
		}
		if !j.BeginAt.IsZero() {
			m.Begin = &j.BeginAt
		}
		if s.Moments == nil {
			s.Moments = map[int]FlowMoment{}
		}
		s.Moments[i] = m
	}
}

// RestoreMoments puts them back.
func (s *FlowSubmit) RestoreMoments() {
	for i, m := range s.Moments { // order-free: each is of another task
		if i < 0 || i >= len(s.Flow.Tasks) || s.Flow.Tasks[i].Job == nil {
			continue
		}
		if m.By != nil {
			s.Flow.Tasks[i].Job.By = *m.By
		}
		if m.Begin != nil {
			s.Flow.Tasks[i].Job.BeginAt = *m.Begin
		}
	}
}

// FlowSubmitted is what became of it.
type FlowSubmitted struct {
	ID int64 `json:"id"`
}

// Flow is a workflow as `flow status` prints it. What is not known, or has not happened, is
// null.
type Flow struct {
	ID        int64  `json:"id"`
	User      string `json:"user"`
	Name      string `json:"name"`
	State     string `json:"state"` // running, cancelling, completed, failed, cancelled
	Why       string `json:"why"`   // it is in this state
	Submitted *Time  `json:"submitted"`
	Ended     *Time  `json:"ended"`
	Tasks     int    `json:"tasks"`
	Done      int    `json:"done"`
	Running   int    `json:"running"` // tasks whose job was submitted and has not ended
	Failed    int    `json:"failed"`

	PredictedEnd *Time `json:"predicted_end"`
	EndEarly     *Time `json:"predicted_end_p05"`
	EndLate      *Time `json:"predicted_end_p95"`

	PlannedS    float64 `json:"planned_s"`     // makespan, by the first plan
	LowerBoundS float64 `json:"lower_bound_s"` // by the estimates at the beginning
	Heuristic   string  `json:"heuristic"`     // of the first plan
	Replans     int     `json:"replans"`

	Kinds []FlowKind `json:"kinds,omitempty"` // of tasks, each behind those it waits for
}

// IsOver says whether nothing happens to it any more.
func (f *Flow) IsOver() bool {
	return f.State == "completed" || f.State == "failed" || f.State == "cancelled"
}

// FlowKind is how far the tasks of one kind are: one task, or the instances of a sweep.
type FlowKind struct {
	Name    string         `json:"name"`
	Parent  int            `json:"parent"` // the kind it waits for last; -1: none
	Tasks   int            `json:"tasks"`
	Done    int            `json:"done"`
	Running int            `json:"running"`
	Failed  int            `json:"failed"`
	On      map[string]int `json:"on,omitempty"` // clusters where they run, and how many
}

// FlowTask is what became of a task.
type FlowTask struct {
	Task    string     `json:"task"`
	Kind    int        `json:"kind"` // in Flow.Kinds
	Job     core.JobID `json:"job"`  // the last one; 0: it was never submitted
	Cluster string     `json:"cluster"`
	State   core.State `json:"job_state"`
	Done    bool       `json:"done"`
	Failed  bool       `json:"failed"` // for good
	Try     int        `json:"try"`
	Started *Time      `json:"started"`
	Ended   *Time      `json:"ended"`
	Why     string     `json:"why"`
}

// FlowLive is one line of a watched workflow: how it is now, and what was decided since the
// line before.
type FlowLive struct {
	Flow  Flow       `json:"flow"`
	News  []Decision `json:"news,omitempty"`
	Final bool       `json:"final,omitempty"`
}

// SubmitFlow hands in a workflow.
func (c *Client) SubmitFlow(ctx context.Context, s *FlowSubmit) (FlowSubmitted, error) {
	return postJSON[FlowSubmitted](ctx, c, "/v1/flows", s)
}

// ListFlows lists the workflows: those that run and the last few, or all; with users those of
// all users, for root.
func (c *Client) ListFlows(ctx context.Context, all, users bool) ([]Flow, error) {
	q := url.Values{}
	if all {
		q.Set("all", "1")
	}
	if users {
		q.Set("users", "1")
	}
	return getJSON[[]Flow](ctx, c, "/v1/flows?"+q.Encode())
}

// GetFlow is one workflow; ref is its number, its name, last, or key: and its key.
func (c *Client) GetFlow(ctx context.Context, ref string) (Flow, error) {
	return getJSON[Flow](ctx, c, flowPath(ref, ""))
}

// ListFlowTasks lists what became of the tasks of a workflow.
func (c *Client) ListFlowTasks(ctx context.Context, ref string) ([]FlowTask, error) {
	return getJSON[[]FlowTask](ctx, c, flowPath(ref, "/tasks"))
}

// CancelFlow ends a workflow and returns when nothing of it runs any more.
func (c *Client) CancelFlow(ctx context.Context, ref string) (Flow, error) {
	return postJSON[Flow](ctx, c, flowPath(ref, "/cancel"), nil)
}

// ExplainFlow lists what was decided for a workflow.
func (c *Client) ExplainFlow(ctx context.Context, ref string) ([]Decision, error) {
	return getJSON[[]Decision](ctx, c, flowPath(ref, "/explain"))
}

// WatchFlow calls see with every state of a workflow until the last one.
func (c *Client) WatchFlow(ctx context.Context, ref string, see func(*FlowLive) error) error {
	isFinal := func(l *FlowLive) bool { return l.Final }
	return watchStream(ctx, c, flowPath(ref, "/watch"), "workflow "+ref, isFinal, see)
}

func flowPath(ref, what string) string { return "/v1/flows/" + url.PathEscape(ref) + what }
