// Package server answers what package api asks, from a broker: HTTP over a Unix
// socket, for processes of the same user alone, or of all users, each of whom is
// shown what is theirs. Who asks is who the system says is at the other end, never
// what is said over the connection. The package turns the broker's records
// into what the surface promises; it must not decide anything.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// Options is what a server needs to know.
type Options struct {
	Broker *broker.Broker
	// Users looks up who may ask; nil: one user alone, whoever comes. Else a request
	// is answered only if it is known whose it is.
	Users    func(uid uint32) (broker.User, error)
	Version  string
	PID      int
	State    string
	Embedded bool
	Limit    api.Limit // of work folders
	Shutdown func()    // asked for by a user
	Reload   func(context.Context) (api.Reloaded, error)
	Stale    func() bool // whether the settings were changed since they were read
}

// maxBody is the largest request that is no chunk of the depot: a job file is
// small.
const maxBody = 16 << 20

type server struct {
	Options
}

// Handler answers requests.
func Handler(o Options) http.Handler {
	s := &server{o}
	mux := http.NewServeMux()
	for pattern, handle := range s.routes() { // order-free: a mux knows no order
		mux.HandleFunc(pattern, handle)
	}
	if o.Users != nil {
		return identified(o.Users, unlessStuck(o.Broker, mux))
	}
	return unlessStuck(o.Broker, mux)
}

// routes are all requests that there are. A test asks each of them as somebody
// whom the answer is none of their business.
func (s *server) routes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /v1/ping":                  answer(s.ping),
		"POST /v1/jobs":                 answer(s.submit),
		"GET /v1/jobs":                  answer(s.jobs),
		"GET /v1/select":                answer(s.selectJobs),
		"GET /v1/jobs/{id}":             answer(s.job),
		"POST /v1/jobs/{id}/cancel":     answer(s.cancel),
		"POST /v1/jobs/{id}/migrate":    answer(s.migrate),
		"POST /v1/jobs/{id}/checkpoint": answer(s.checkpoint),
		"GET /v1/jobs/{id}/explain":     answer(s.explain),
		"GET /v1/jobs/{id}/logs":        s.logs,
		"GET /v1/jobs/{id}/watch":       s.watch,
		"POST /v1/quote":                answer(s.quote),
		"POST /v1/estimates":            answer(s.estimates),
		"GET /v1/clusters":              answer(s.clusters),
		"GET /v1/history":               answer(s.history),
		"GET /v1/history/calibration":   answer(s.calibration),
		"GET /v1/depot-usage":           answer(s.depotUsage),
		"POST /v1/depot-prune":          answer(s.pruneDepot),
		"GET /v1/weather":               answer(s.weather),
		"GET /v1/weather/graph":         answer(s.graph),
		"GET /v1/hosts":                 answer(s.hosts),
		"POST /v1/shutdown":             answer(s.shutdown),
		"POST /v1/reload":               answer(s.reload),
		"POST " + wire.Path:             s.agent,
		wire.Depot:                      s.depot,
		"/": func(w http.ResponseWriter, r *http.Request) {
			refuse(w, &badinput.Error{Field: "path", Value: r.Method + " " + r.URL.Path, Problem: "unknown request; the version of this broker is " + s.Version})
		},
	}
}

// depot answers from the depot of who asks. Who asks from a cluster is told of what its
// attempts need and of nothing else.
func (s *server) depot(w http.ResponseWriter, r *http.Request) {
	var chunks *depot.Store
	var fence *depot.Fence
	var err error
	if caller, ok := r.Context().Value(callerKey{}).(string); ok {
		chunks, fence, err = s.Broker.DepotFrom(r.Context(), caller)
	} else {
		chunks, err = s.Broker.Depot(r.Context())
	}
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError) // as a full disk: who brings something is to try again
	case fence != nil:
		depot.FencedHandler(chunks, fence).ServeHTTP(w, r)
	default:
		depot.Handler(chunks).ServeHTTP(w, r)
	}
}

// unlessStuck has requests of users refused while the broker cannot decide
// anything, instead of having them wait for nobody knows how long.
func unlessStuck(b *broker.Broker, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := r.URL.Path
		if err := b.Stuck(); err != nil && p != wire.Path && p != "/v1/shutdown" && !strings.HasPrefix(p, wire.Depot) {
			refuse(w, err)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// answer makes a handler of a function that returns what to answer.
func answer[T any](f func(r *http.Request) (T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := takeBody(w, r); err != nil {
			refuse(w, err)
			return
		}
		v, err := f(r)
		if err != nil {
			refuse(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // the client has gone: nobody to tell
	}
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, err error) {
	e, status := api.Error{Text: err.Error(), Code: 1}, http.StatusConflict
	var bad *badinput.Error
	if errors.As(err, &bad) {
		e.Code, status = 2, http.StatusBadRequest
	}
	if errors.Is(err, broker.ErrStopped) {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(e)
}

func body[T any](r *http.Request) (T, error) {
	var v T
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return v, err
	}
	if len(data) == 0 {
		return v, nil
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, &badinput.Error{Field: "request", Want: "JSON as this version writes it: " + err.Error()}
	}
	return v, nil
}

func (s *server) ping(r *http.Request) (api.Ping, error) {
	n, err := s.Broker.Live(r.Context())
	return api.Ping{Version: s.Version, PID: s.PID, Embedded: s.Embedded, State: s.State, Jobs: n, Limit: s.Limit,
		Stale: s.Stale != nil && s.Stale()}, err
}

func (s *server) submit(r *http.Request) (api.Submitted, error) {
	sub, err := body[api.Submit](r)
	if err != nil {
		return api.Submitted{}, err
	}
	work := sub.Work
	if sub.Stdin != "" || len(sub.Made) > 0 {
		made := make([]broker.Made, len(sub.Made))
		for i, m := range sub.Made {
			made[i] = broker.Made(m)
		}
		if work, err = s.Broker.Assemble(r.Context(), work, sub.Stdin, made); err != nil {
			return api.Submitted{}, err
		}
	}
	ids, err := s.Broker.Submit(r.Context(), &sub.Job, work)
	return api.Submitted{IDs: ids}, err
}

func (s *server) jobs(r *http.Request) ([]api.Job, error) {
	list := s.Broker.Jobs
	if r.FormValue("users") != "" {
		list = s.Broker.JobsOfAll
	}
	views, err := list(r.Context(), r.FormValue("all") != "")
	shown := make([]api.Job, 0, len(views))
	for i := range views {
		shown = append(shown, s.show(&views[i]))
	}
	return shown, err
}

func (s *server) job(r *http.Request) (api.Job, error) {
	v, err := s.Broker.Job(r.Context(), r.PathValue("id"))
	if err != nil {
		return api.Job{}, err
	}
	return s.show(v), nil
}

func (s *server) cancel(r *http.Request) (api.Job, error) {
	end := s.Broker.Cancel
	if r.URL.Query().Get("now") != "" {
		end = s.Broker.CancelNow
	}
	v, err := end(r.Context(), r.PathValue("id"))
	if err != nil {
		return api.Job{}, err
	}
	return s.show(v), nil
}

func (s *server) migrate(r *http.Request) (api.Done, error) {
	m, err := body[api.Migrate](r)
	if err != nil {
		return api.Done{}, err
	}
	text, err := s.Broker.Migrate(r.Context(), r.PathValue("id"), m.To)
	return api.Done{Text: text}, err
}

func (s *server) checkpoint(r *http.Request) (api.Done, error) {
	saved, err := s.Broker.Checkpoint(r.Context(), r.PathValue("id"))
	if err != nil {
		return api.Done{}, err
	}
	return api.Done{Text: fmt.Sprintf("job %s: checkpoint %d saved in %.2f s, %s (%s new); frozen for %.2f s",
		r.PathValue("id"), saved.N, saved.Took.Seconds(), broker.SizeText(saved.Bytes), broker.SizeText(saved.Moved), saved.Frozen.Seconds())}, nil
}

func (s *server) explain(r *http.Request) ([]api.Decision, error) {
	v, entries, err := s.Broker.Explain(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return decisions(v, entries), nil
}

func (s *server) shutdown(r *http.Request) (api.Done, error) {
	if err := s.Broker.Rules(r.Context()); err != nil {
		return api.Done{}, err
	}
	time.AfterFunc(50*time.Millisecond, s.Shutdown) // after the answer
	return api.Done{Text: "the broker ends; jobs run on"}, nil
}

// reload has the settings read again.
func (s *server) reload(r *http.Request) (api.Reloaded, error) {
	if err := s.Broker.Rules(r.Context()); err != nil {
		return api.Reloaded{}, err
	}
	if s.Reload == nil {
		return api.Reloaded{}, errors.New("this broker has no file of settings")
	}
	return s.Reload(r.Context())
}

// logs streams what a job wrote.
func (s *server) logs(w http.ResponseWriter, r *http.Request) {
	stream, _ := strconv.Atoi(r.FormValue("stream"))
	offset, err := strconv.ParseInt(r.FormValue("offset"), 10, 64)
	if err != nil || offset < 0 || stream < 1 || stream > 2 {
		refuse(w, &badinput.Error{Field: "stream", Value: r.FormValue("stream"), Want: "1 or 2, and an offset from 0"})
		return
	}
	flush := http.NewResponseController(w)
	begun := false
	err = s.Broker.Logs(r.Context(), r.PathValue("id"), stream, offset, r.FormValue("follow") != "", func(data []byte) error {
		begun = true
		if _, err := w.Write(data); err != nil {
			return err
		}
		return flush.Flush()
	})
	finish(w, err, begun)
}

// finish ends a stream: with an error if nothing was written yet, else by
// cutting it, so that its reader sees that it is not whole.
func finish(w http.ResponseWriter, err error, begun bool) {
	switch {
	case err == nil:
	case !begun:
		refuse(w, err)
	default:
		panic(http.ErrAbortHandler)
	}
}

// watch streams the states of a job.
func (s *server) watch(w http.ResponseWriter, r *http.Request) {
	flush := http.NewResponseController(w)
	out := json.NewEncoder(w)
	begun := false
	err := s.Broker.Follow(r.Context(), r.PathValue("id"), func(v *broker.View, news []wire.Entry) error {
		begun = true
		if err := out.Encode(api.Live{Job: s.show(v), News: decisions(v, news), Final: v.Over}); err != nil {
			return err
		}
		return flush.Flush()
	})
	finish(w, err, begun)
}

// agent turns the request into a connection to an agent.
func (s *server) agent(w http.ResponseWriter, r *http.Request) {
	conn, err := wire.Accept(w, r)
	if err != nil {
		return // told by Accept
	}
	_ = s.Broker.ServeAgent(context.WithoutCancel(r.Context()), conn) // it reconnects if it has more to say
}
