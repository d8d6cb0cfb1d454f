package server

import (
	"net/http"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// showTimeline says where a job has been, from the history of its attempts and, of the present one,
// from what was decided.
func (s *server) showTimeline(r *http.Request) (api.Timeline, error) {
	now := s.Broker.CurrentTime()
	t := api.Timeline{Segments: []api.Segment{}, Marks: []api.Mark{}, Outlooks: []api.Outlook{}, Now: *api.TimeAt(now)}
	v, points, err := s.Broker.ListOutlooks(r.Context(), r.PathValue("id"))
	if err != nil {
		return t, err
	}
	runs, entries, err := s.Broker.ListAttempts(r.Context(), r.PathValue("id"))
	if err != nil {
		return t, err
	}
	t.Deadline = api.TimeAt(v.Deadline)
	for i := range points {
		p := &points[i]
		o := api.Outlook{At: *api.TimeAt(p.At), Early: api.TimeAt(p.Early),
			Middle: api.TimeAt(p.Middle), Late: api.TimeAt(p.Late)}
		if p.Chance >= 0 {
			o.PDeadline = &p.Chance
		}
		t.Outlooks = append(t.Outlooks, o)
	}
	b := &timelineBuilder{at: v.Submitted, gap: "waiting", out: &t}
	slices.SortFunc(runs, func(x, y history.Run) int { return int(x.Epoch - y.Epoch) })
	for i := range runs {
		b.addRun(&runs[i])
	}
	b.addPresent(v, entries)
	for i := range entries {
		if e := &entries[i]; isMark(e) {
			t.Marks = append(t.Marks, api.Mark{Kind: e.Kind, At: *api.TimeAt(max(1, e.At)), Text: e.Choice})
		}
	}
	return t, nil
}

// isMark reports whether a moment is shown in a timeline.
func isMark(e *wire.Entry) bool {
	switch e.Kind {
	case "move", "lost", "predict", "resize", "sandbox", "cancel":
		return true
	case "checkpoint":
		return strings.HasSuffix(e.Choice, "saved")
	case "decide":
		return strings.HasPrefix(e.Choice, "move")
	}
	return false
}

// timelineBuilder adds one stretch after the other.
type timelineBuilder struct {
	at  core.Time
	gap string // what the job does between its attempts
	out *api.Timeline
}

func (b *timelineBuilder) add(kind, cluster string, attempt core.Epoch, to core.Time, outcome string) {
	if to <= b.at {
		return
	}
	b.out.Segments = append(b.out.Segments, api.Segment{Kind: kind, Cluster: cluster, Attempt: int(attempt),
		From: *api.TimeAt(b.at), To: api.TimeAt(to), Outcome: outcome})
	b.at = to
}

func (b *timelineBuilder) addRun(r *history.Run) {
	b.add(b.gap, "", 0, r.Requested, "")
	if r.Started == 0 {
		b.add("starting", r.Cluster, r.Epoch, r.Ended, string(r.Outcome))
	} else {
		b.add("starting", r.Cluster, r.Epoch, r.Started, "")
		b.add("running", r.Cluster, r.Epoch, r.Ended, string(r.Outcome))
	}
	if b.gap = "waiting"; r.Outcome == history.Moved || r.Outcome == history.Stopped {
		b.gap = "moving"
	}
}

// addPresent adds what the history does not know yet.
func (b *timelineBuilder) addPresent(v *broker.View, entries []wire.Entry) {
	if v.State.IsTerminal() {
		b.add(b.gap, "", 0, v.Ended, "")
		return
	}
	open := api.Segment{Kind: b.gap}
	for i := range entries {
		e := &entries[i]
		if e.At < b.at {
			continue
		}
		switch e.Kind {
		case "place":
			b.add(open.Kind, open.Cluster, core.Epoch(open.Attempt), e.At, "")
			open = api.Segment{Kind: "starting", Cluster: strings.TrimPrefix(e.Choice, "cluster "), Attempt: int(v.Epoch)}
		case "start":
			if open.Kind == "starting" {
				b.add(open.Kind, open.Cluster, core.Epoch(open.Attempt), e.At, "")
				open.Kind = "running"
			}
		}
	}
	open.From = *api.TimeAt(b.at)
	b.out.Segments = append(b.out.Segments, open)
}
