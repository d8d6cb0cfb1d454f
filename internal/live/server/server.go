// Package server answers what package api asks, from a broker: HTTP over a Unix
// socket, for processes of the same user alone, or of all users, each of whom is
// shown what is theirs. Who asks is who the system says is at the other end, never
// what is said over the connection. The package turns the broker's records
// into what the surface promises; it must not decide anything.
package server

import (
	"cmp"
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
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/workflow"
	"github.com/godwit-hpc/godwit/internal/live/workpool"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Options is what a server needs to know.
type Options struct {
	Broker *broker.Broker
	Flows  *workflow.Service // nil: no workflows are taken
	Pools  *workpool.Service // nil: no pools are taken
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

// NewHandler answers requests.
func NewHandler(o Options) http.Handler {
	s := &server{o}
	mux := http.NewServeMux()
	for pattern, handle := range s.routeTable() { // order-free: a mux knows no order
		mux.HandleFunc(pattern, handle)
	}
	limited := unlessStuck(o.Broker, limitLargeRequests(mux))
	if o.Users != nil {
		return identifyRequests(o.Users, limited)
	}
	return limited
}

// routeTable are all requests that there are. A test asks each of them as somebody
// whom the answer is none of their business.
func (s *server) routeTable() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /v1/ping":                  answerJSON(s.answerPing),
		"POST /v1/jobs":                 answerJSON(s.submitJob),
		"GET /v1/jobs":                  s.listJobs,
		"POST /v1/jobs/bulk":            answerJSON(s.submitMany),
		"GET /v1/events":                s.streamChanges,
		"GET /v1/jobs/{id}/timeline":    answerJSON(s.showTimeline),
		"GET /v1/openapi.json":          answerJSON(s.describeAPI),
		"GET /metrics":                  s.showMetrics,
		"GET /v1/select":                s.selectJobs,
		"GET /v1/jobs/{id}":             answerJSON(s.showJob),
		"POST /v1/jobs/{id}/cancel":     answerJSON(s.cancelJob),
		"POST /v1/jobs/{id}/migrate":    answerJSON(s.migrateJob),
		"POST /v1/jobs/{id}/resize":     answerJSON(s.resizeJob),
		"POST /v1/jobs/{id}/checkpoint": answerJSON(s.checkpointJob),
		"POST /v1/jobs/{id}/hold":       answerJSON(steerJob(s.Broker.HoldJob)),
		"POST /v1/jobs/{id}/release":    answerJSON(steerJob(s.Broker.ReleaseJob)),
		"POST /v1/jobs/{id}/requeue":    answerJSON(steerJobWith(s.Broker.RequeueJob)),
		"POST /v1/jobs/{id}/suspend":    answerJSON(steerJob(s.Broker.SuspendJob)),
		"POST /v1/jobs/{id}/resume":     answerJSON(steerJob(s.Broker.ResumeJob)),
		"POST /v1/jobs/{id}/update":     answerJSON(steerJobWith(s.Broker.UpdateJob)),
		"GET /v1/jobs/{id}/explain":     answerJSON(s.explainJob),
		"GET /v1/jobs/{id}/logs":        s.streamLogs,
		"GET /v1/jobs/{id}/watch":       s.watchJob,
		"POST /v1/flows":                answerJSON(s.submitFlow),
		"GET /v1/flows":                 answerJSON(s.listFlows),
		"GET /v1/flows/{id}":            aboutFlow(s, (*workflow.Service).GetFlow),
		"GET /v1/flows/{id}/tasks":      aboutFlow(s, (*workflow.Service).ListTasks),
		"POST /v1/flows/{id}/cancel":    aboutFlow(s, (*workflow.Service).CancelFlow),
		"GET /v1/flows/{id}/explain":    aboutFlow(s, explainFlow),
		"GET /v1/flows/{id}/watch":      s.watchFlow,
		"POST /v1/pools":                answerJSON(s.submitPool),
		"GET /v1/pools":                 answerJSON(s.listPools),
		"GET /v1/pools/{id}":            aboutPool(s, (*workpool.Service).GetPool),
		"GET /v1/pools/{id}/failures":   aboutPool(s, (*workpool.Service).ListFailures),
		"POST /v1/pools/{id}/cancel":    aboutPool(s, (*workpool.Service).CancelPool),
		"GET /v1/pools/{id}/watch":      s.watchPool,
		"GET /v1/pools/{id}/outcomes":   s.copyOutcomes,
		"POST " + poolwork.Path:         answerJSON(s.takeReport),
		"POST /v1/quote":                answerJSON(s.quoteJob),
		"POST /v1/estimates":            answerJSON(s.estimateCommands),
		"GET /v1/clusters":              answerJSON(s.listClusters),
		"POST /v1/drain":                answerJSON(s.drainClusters),
		"POST /v1/undrain":              answerJSON(s.undrainClusters),
		"GET /v1/history":               answerJSON(s.listHistory),
		"GET /v1/history/calibration":   answerJSON(s.showCalibration),
		"GET /v1/log":                   s.exportLog,
		"GET /v1/depot-usage":           answerJSON(s.depotUsage),
		"POST /v1/depot-prune":          answerJSON(s.pruneDepot),
		"GET /v1/weather":               answerJSON(s.showWeather),
		"GET /v1/weather/graph":         answerJSON(s.showGraph),
		"GET /v1/hosts":                 answerJSON(s.listHosts),
		"POST /v1/shutdown":             answerJSON(s.shutdownBroker),
		"POST /v1/reload":               answerJSON(s.reloadSettings),
		"POST " + wire.Path:             s.serveAgent,
		wire.Depot:                      s.serveDepot,
		"/": func(w http.ResponseWriter, r *http.Request) {
			refuseRequest(w, &badinput.Error{Field: "path", Value: r.Method + " " + r.URL.Path,
				Problem: "unknown request; the version of this broker is " + s.Version})
		},
	}
}

// serveDepot answers from the depot of who asks. Who asks from a cluster is told of what its
// attempts need and of nothing else.
func (s *server) serveDepot(w http.ResponseWriter, r *http.Request) {
	var chunks *depot.Store
	var fence *httpdepot.Fence
	var err error
	if caller, ok := r.Context().Value(callerKey{}).(string); ok {
		chunks, fence, err = s.Broker.DepotFrom(r.Context(), caller)
	} else {
		chunks, err = s.Broker.DepotFor(r.Context())
	}
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError) // as a full disk: who brings something is to try again
	case fence != nil:
		httpdepot.FencedHandler(chunks, fence).ServeHTTP(w, r)
	default:
		httpdepot.NewHandler(chunks).ServeHTTP(w, r)
	}
}

// unlessStuck has requests of users refused while the broker cannot decide
// anything, instead of having them wait for nobody knows how long.
func unlessStuck(b *broker.Broker, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := r.URL.Path
		if err := b.StuckReason(); err != nil && p != wire.Path && p != "/v1/shutdown" && !strings.HasPrefix(p, wire.Depot) {
			refuseRequest(w, err)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// answerJSON makes a handler of a function that returns what to answer.
func answerJSON[T any](f func(r *http.Request) (T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := takeBody(w, r); err != nil {
			refuseRequest(w, err)
			return
		}
		v, err := f(r)
		if err != nil {
			refuseRequest(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // the client has gone: nobody to tell
	}
}

// refuseRequest answers with an error.
func refuseRequest(w http.ResponseWriter, err error) {
	e, status := refusalOf(err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(e)
}

// refusalOf is what is answered instead, with its status.
func refusalOf(err error) (api.Error, int) {
	e, status := api.Error{Text: err.Error(), Code: 1}, http.StatusConflict
	var bad *badinput.Error
	if errors.As(err, &bad) {
		e.Code, status = 2, http.StatusBadRequest
	}
	if errors.Is(err, broker.ErrStopped) {
		status = http.StatusServiceUnavailable
	}
	return e, status
}

func readBody[T any](r *http.Request) (T, error) {
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

func (s *server) answerPing(r *http.Request) (api.Ping, error) {
	n, err := s.Broker.CountLive(r.Context())
	return api.Ping{Version: s.Version, PID: s.PID, Embedded: s.Embedded, State: s.State, Jobs: n, Limit: s.Limit,
		Stale: s.Stale != nil && s.Stale()}, err
}

func (s *server) submitJob(r *http.Request) (api.Submitted, error) {
	sub, err := readBody[api.Submit](r)
	if err != nil {
		return api.Submitted{}, err
	}
	return s.submitOne(r.Context(), &sub)
}

func (s *server) submitOne(ctx context.Context, sub *api.Submit) (_ api.Submitted, err error) {
	work := sub.Work
	if sub.Stdin != "" || len(sub.Made) > 0 {
		if work, err = s.Broker.AssembleWork(ctx, work, sub.Stdin, sub.Made); err != nil {
			return api.Submitted{}, err
		}
	}
	ids, err := s.Broker.SubmitJob(ctx, &sub.Job, work)
	return api.Submitted{IDs: ids}, err
}

func (s *server) listJobs(w http.ResponseWriter, r *http.Request) {
	if wantsPage(r) {
		answerJSON(s.listPage)(w, r)
		return
	}
	visit := s.Broker.VisitJobs
	if r.FormValue("users") != "" {
		visit = s.Broker.VisitJobsOfAll
	}
	s.answerJobs(w, r, func(see func(*broker.View) error) error {
		return visit(r.Context(), r.FormValue("all") != "", see)
	})
}

func (s *server) selectJobs(w http.ResponseWriter, r *http.Request) {
	newest := r.FormValue("newest") != ""
	s.answerJobs(w, r, func(see func(*broker.View) error) error {
		return s.Broker.VisitSelected(r.Context(), r.Form["job"], newest, see)
	})
}

// answerJobs answers job by job, so that a list of very many needs no memory for all of them.
func (s *server) answerJobs(w http.ResponseWriter, r *http.Request, visit func(func(*broker.View) error) error) {
	if err := takeBody(w, r); err != nil {
		refuseRequest(w, err)
		return
	}
	before, each := "[", json.NewEncoder(w)
	begin := func() error {
		w.Header().Set("Content-Type", "application/json")
		_, err := io.WriteString(w, before)
		before = ","
		return err
	}
	err := visit(func(v *broker.View) error {
		if err := begin(); err != nil {
			return err
		}
		return each.Encode(s.jobFromView(v))
	})
	switch {
	case err == nil && before == "[": // there are none
		err = begin()
	case err != nil && before == "[":
		refuseRequest(w, err)
		return
	}
	if err != nil {
		panic(http.ErrAbortHandler) // the client has gone, or must not take a part for the whole
	}
	_, _ = io.WriteString(w, "]\n") // the client has gone: nobody to tell
}

func (s *server) showJob(r *http.Request) (api.Job, error) {
	v, err := s.Broker.GetJob(r.Context(), r.PathValue("id"))
	if err != nil {
		return api.Job{}, err
	}
	return s.jobFromView(v), nil
}

func (s *server) cancelJob(r *http.Request) (api.Job, error) {
	end := s.Broker.CancelJob
	if r.URL.Query().Get("now") != "" {
		end = s.Broker.CancelNow
	}
	v, err := end(r.Context(), r.PathValue("id"))
	if err != nil {
		return api.Job{}, err
	}
	return s.jobFromView(v), nil
}

func (s *server) migrateJob(r *http.Request) (api.Done, error) {
	m, err := readBody[api.Migrate](r)
	if err != nil {
		return api.Done{}, err
	}
	text, err := s.Broker.MigrateJob(r.Context(), r.PathValue("id"), m.To)
	return api.Done{Text: text}, err
}

func (s *server) resizeJob(r *http.Request) (api.Done, error) {
	m, err := readBody[api.Resize](r)
	if err != nil {
		return api.Done{}, err
	}
	text, err := s.Broker.ResizeJob(r.Context(), r.PathValue("id"), m)
	return api.Done{Text: text}, err
}

// steerJob does something with the job that a request names.
func steerJob(do func(ctx context.Context, ref string) (string, error)) func(*http.Request) (api.Done, error) {
	return func(r *http.Request) (api.Done, error) {
		text, err := do(r.Context(), r.PathValue("id"))
		return api.Done{Text: text}, err
	}
}

// steerJobWith does so as the body of the request says.
func steerJobWith[T any](
	do func(ctx context.Context, ref string, how T) (string, error)) func(*http.Request) (api.Done, error) {
	return func(r *http.Request) (api.Done, error) {
		how, err := readBody[T](r)
		if err != nil {
			return api.Done{}, err
		}
		text, err := do(r.Context(), r.PathValue("id"), how)
		return api.Done{Text: text}, err
	}
}

func (s *server) checkpointJob(r *http.Request) (api.Done, error) {
	saved, err := s.Broker.CheckpointJob(r.Context(), r.PathValue("id"))
	if err != nil {
		return api.Done{}, err
	}
	return api.Done{Text: fmt.Sprintf("job %s: checkpoint %d saved in %.2f s, %s (%s new); frozen for %.2f s",
		r.PathValue("id"), saved.N, saved.Took.Seconds(), core.FormatBytes(saved.Bytes), core.FormatBytes(saved.Moved),
		saved.Frozen.Seconds())}, nil
}

func (s *server) explainJob(r *http.Request) ([]api.Decision, error) {
	v, entries, err := s.Broker.ExplainJob(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return decisionsFromEntries(v.Submitted, entries), nil
}

func (s *server) shutdownBroker(r *http.Request) (api.Done, error) {
	if err := s.Broker.CheckAdministrator(r.Context()); err != nil {
		return api.Done{}, err
	}
	time.AfterFunc(50*time.Millisecond, s.Shutdown) // after the answer
	return api.Done{Text: "the broker ends; jobs run on"}, nil
}

// reloadSettings has the settings read again.
func (s *server) reloadSettings(r *http.Request) (api.Reloaded, error) {
	if err := s.Broker.CheckAdministrator(r.Context()); err != nil {
		return api.Reloaded{}, err
	}
	if s.Reload == nil {
		return api.Reloaded{}, errors.New("this broker has no file of settings")
	}
	return s.Reload(r.Context())
}

// streamLogs streams what a job wrote.
func (s *server) streamLogs(w http.ResponseWriter, r *http.Request) {
	stream, _ := strconv.Atoi(r.FormValue("stream"))
	offset, err := strconv.ParseInt(r.FormValue("offset"), 10, 64)
	if err != nil || offset < 0 || stream < 1 || stream > 2 {
		refuseRequest(w, &badinput.Error{Field: "stream", Value: r.FormValue("stream"), Want: "1 or 2, and an offset from 0"})
		return
	}
	part, err := strconv.Atoi(cmp.Or(r.FormValue("part"), "0"))
	if err != nil || part < 0 || part >= wire.MaxParts {
		refuseRequest(w, &badinput.Error{Field: "part", Value: r.FormValue("part"), Want: "the number of a part, from 0"})
		return
	}
	flush := http.NewResponseController(w)
	begun := false
	err = s.Broker.CopyPartLogs(r.Context(), r.PathValue("id"), part, stream, offset, r.FormValue("follow") != "",
		func(data []byte) error {
			begun = true
			if _, err := w.Write(data); err != nil {
				return err
			}
			return flush.Flush()
		})
	finishStream(w, err, begun)
}

// finishStream ends a stream: with an error if nothing was written yet, else by
// cutting it, so that its reader sees that it is not whole.
func finishStream(w http.ResponseWriter, err error, begun bool) {
	switch {
	case err == nil:
	case !begun:
		refuseRequest(w, err)
	default:
		panic(http.ErrAbortHandler)
	}
}

// watchJob streams the states of a job.
func (s *server) watchJob(w http.ResponseWriter, r *http.Request) {
	flush := http.NewResponseController(w)
	out := json.NewEncoder(w)
	begun := false
	err := s.Broker.FollowJob(r.Context(), r.PathValue("id"), func(v *broker.View, news []wire.Entry) error {
		begun = true
		if err := out.Encode(api.Live{Job: s.jobFromView(v), News: decisionsFromEntries(v.Submitted, news),
			Final: v.Over}); err != nil {
			return err
		}
		return flush.Flush()
	})
	finishStream(w, err, begun)
}

// serveAgent turns the request into a connection to an agent.
func (s *server) serveAgent(w http.ResponseWriter, r *http.Request) {
	conn, err := wire.AcceptAgent(w, r)
	if err != nil {
		return // told by Accept
	}
	_ = s.Broker.ServeAgent(context.WithoutCancel(r.Context()), conn) // it reconnects if it has more to say
}
