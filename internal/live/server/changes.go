package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

const (
	// changesInterval is how often who follows is told at most.
	changesInterval = 250 * time.Millisecond
	// heartbeatInterval is how often they are told that there is nothing to tell, so that they and
	// whatever is in between know that the broker is there.
	heartbeatInterval = 5 * time.Second
	// vitalsInterval is how often jobs that are looked at are shown though nothing happened to them.
	vitalsInterval = 2 * time.Second
	// sendTimeout is how long who follows may take to take in a message.
	sendTimeout = 30 * time.Second
	maxLookedAt = 200 // jobs of one who follows
)

// follower is somebody who follows the changes.
type follower struct {
	s        *server
	w        http.ResponseWriter
	ctx      context.Context
	everyone bool
	jobs     []core.JobID // looked at
	last     uint64       // event that was told
	shown    map[core.JobID]string
	told     time.Time // when something was sent
	looked   time.Time // when jobs were shown
}

// streamChanges tells what changes as server-sent events, whose ids are numbers of events of the log. It begins
// after Last-Event-ID, or since, or now.
func (s *server) streamChanges(w http.ResponseWriter, r *http.Request) {
	f := &follower{s: s, w: w, ctx: r.Context(), everyone: r.FormValue("users") != "", shown: map[core.JobID]string{}}
	since, err := f.parse(r)
	if err == nil {
		_, _, _, err = s.Broker.ChangesSince(f.ctx, s.Broker.LastEvent(), f.everyone)
	}
	if err != nil && !errors.Is(err, broker.ErrChangesGone) {
		refuseRequest(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // proxies must not keep it
	if since == "" {
		f.last = s.Broker.LastEvent()
		err = f.send(&api.Changes{Changes: []api.Change{}})
	} else if f.last, err = strconv.ParseUint(since, 10, 64); err == nil {
		err = f.comment("resumed")
	}
	if err == nil {
		err = f.follow()
	}
	if f.ctx.Err() == nil && err != nil {
		panic(http.ErrAbortHandler)
	}
}

// parse reads what is looked at, and from where on.
func (f *follower) parse(r *http.Request) (since string, err error) {
	if since = r.Header.Get("Last-Event-ID"); since == "" {
		since = r.FormValue("since")
	}
	if since != "" {
		if _, err := strconv.ParseUint(since, 10, 63); err != nil {
			return "", &badinput.Error{Field: "since", Value: since, Want: "the number of an event"}
		}
	}
	for _, text := range r.Form["job"] {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || len(f.jobs) == maxLookedAt {
			return "", &badinput.Error{Field: "job", Value: text, Want: fmt.Sprintf("the number of a job, at most %d times",
				maxLookedAt)}
		}
		f.jobs = append(f.jobs, core.JobID(n))
	}
	return since, nil
}

// follow tells changes until nobody wants to hear of them.
func (f *follower) follow() error {
	now := clock.RealClock()
	f.told = now()
	for {
		list, last, wake, err := f.s.Broker.ChangesSince(f.ctx, f.last, f.everyone)
		if errors.Is(err, broker.ErrChangesGone) {
			f.last = f.s.Broker.LastEvent()
			if err := f.send(&api.Changes{Changes: []api.Change{}, Reset: true}); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if err := f.tell(list, last, now); err != nil {
			return err
		}
		if !clock.SleepContext(f.ctx, changesInterval) {
			return f.ctx.Err()
		}
		pause := heartbeatInterval
		if len(f.jobs) > 0 {
			pause = vitalsInterval
		}
		timer := time.NewTimer(pause)
		select {
		case <-wake:
		case <-timer.C:
		case <-f.ctx.Done():
		}
		timer.Stop()
	}
}

// tell sends what changed, and what is looked at where it looks different.
func (f *follower) tell(list []broker.Change, last uint64, now clock.Clock) error {
	message := api.Changes{Changes: make([]api.Change, 0, len(list))}
	for i := range list {
		c := &list[i]
		change := api.Change{Event: c.Event, At: api.TimeAt(c.At), Job: c.Job, Kind: c.Kind}
		if c.Kind == core.JobBecame {
			change.From, change.To = &c.From, &c.To
		}
		message.Changes = append(message.Changes, change)
	}
	touched := slices.ContainsFunc(list, func(c broker.Change) bool { return slices.Contains(f.jobs, c.Job) })
	if len(f.jobs) > 0 && (touched || now.Since(f.looked) >= vitalsInterval) {
		var err error
		if message.Jobs, err = f.lookAtJobs(); err != nil {
			return err
		}
		f.looked = now()
	}
	f.last = max(f.last, last)
	if len(message.Changes) == 0 && len(message.Jobs) == 0 {
		if now.Since(f.told) < heartbeatInterval {
			return nil
		}
		f.told = now()
		return f.comment("here")
	}
	if len(message.Changes) > 0 {
		p, err := f.s.Broker.ListPage(f.ctx, store.Search{Limit: 1}, f.everyone)
		if err != nil {
			return err
		}
		message.Counts = countsByState(&p.Counts)
	}
	f.told = now()
	return f.send(&message)
}

// lookAtJobs gives the jobs looked at that look different from how they were last shown.
func (f *follower) lookAtJobs() ([]api.Job, error) {
	views, err := f.s.Broker.LookAtJobs(f.ctx, f.jobs)
	var list []api.Job
	for i := range views {
		if views[i].State == core.Running { // its agent tells how it is
			if v, err := f.s.Broker.GetJob(f.ctx, strconv.FormatInt(int64(views[i].ID), 10)); err == nil && len(views) == 1 {
				views[i] = *v
			}
		}
		j := f.s.jobFromView(&views[i])
		text, err := json.Marshal(&j)
		if err != nil {
			return nil, err
		}
		if f.shown[j.ID] != string(text) {
			f.shown[j.ID] = string(text)
			list = append(list, j)
		}
	}
	return list, err
}

func (f *follower) send(m *api.Changes) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "id: %d\ndata: %s\n\n", f.last, text)
	return f.write(b.Bytes())
}

func (f *follower) comment(text string) error { return f.write([]byte(": " + text + "\n\n")) }

func (f *follower) write(text []byte) error {
	control := http.NewResponseController(f.w)
	_ = control.SetWriteDeadline(clock.RealClock()().Add(sendTimeout)) // where there is none nobody waits
	if _, err := f.w.Write(text); err != nil {
		return err
	}
	return control.Flush()
}
