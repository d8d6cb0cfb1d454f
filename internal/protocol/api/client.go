package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Base is the address of the broker in requests of a Client's HTTP client; the
// name in it means nothing, all go to the socket.
const Base = "http://broker"

// Client asks the broker that listens on a socket.
type Client struct {
	HTTP   *http.Client // for others that speak to the same broker, such as the depot's client
	socket string
}

// DialBroker makes a client; it connects when first asked.
func DialBroker(socket string) *Client {
	return &Client{&http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialSocket(ctx, socket)
		},
		MaxIdleConnsPerHost: 8,
		DisableCompression:  true,
	}}, socket}
}

// Close gives back the connections.
func (c *Client) Close() { c.HTTP.CloseIdleConnections() }

// PingBroker asks who is there.
func (c *Client) PingBroker(ctx context.Context) (Ping, error) {
	return getJSON[Ping](ctx, c, "/v1/ping")
}

// SubmitJob hands in a job.
func (c *Client) SubmitJob(ctx context.Context, s *Submit) (Submitted, error) {
	return postJSON[Submitted](ctx, c, "/v1/jobs", s)
}

// ListJobs lists the jobs: those that live and the last few, or all.
func (c *Client) ListJobs(ctx context.Context, all bool) ([]Job, error) {
	path := "/v1/jobs"
	if all {
		path += "?all=1"
	}
	return getJSON[[]Job](ctx, c, path)
}

// JobsOfAll lists the jobs of all users, for root.
func (c *Client) JobsOfAll(ctx context.Context, all bool) ([]Job, error) {
	path := "/v1/jobs?users=1"
	if all {
		path += "&all=1"
	}
	return getJSON[[]Job](ctx, c, path)
}

// GetJob is one job; id is its number or its uid.
func (c *Client) GetJob(ctx context.Context, id string) (Job, error) {
	return getJSON[Job](ctx, c, jobPath(id, ""))
}

// SelectJobs finds the jobs that references such as 83, 80-83, 83_[1-4], a name or last
// mean. Of several jobs of one name it is all that have not ended, or, with newest,
// the newest alone.
func (c *Client) SelectJobs(ctx context.Context, refs []string, newest bool) ([]Job, error) {
	q := url.Values{"job": refs}
	if newest {
		q.Set("newest", "1")
	}
	return getJSON[[]Job](ctx, c, "/v1/select?"+q.Encode())
}

// DepotUsage is what the depot holds; what was used within age is not told to be
// unused.
func (c *Client) DepotUsage(ctx context.Context, age time.Duration) (DepotUsage, error) {
	return getJSON[DepotUsage](ctx, c, "/v1/depot-usage?older_s="+strconv.FormatFloat(age.Seconds(), 'f', -1, 64))
}

// PruneDepot frees what no job needs.
func (c *Client) PruneDepot(ctx context.Context, p DepotPrune) (DepotUsage, error) {
	return postJSON[DepotUsage](ctx, c, "/v1/depot-prune", p)
}

// CancelJob ends a job, with its time of grace, and returns when nothing of it is left
// and its files are home, or cannot be brought home at present.
func (c *Client) CancelJob(ctx context.Context, id string) (Job, error) {
	return postJSON[Job](ctx, c, jobPath(id, "/cancel"), nil)
}

// CancelNow ends a job without a time of grace, and, where it was told to end
// before, without waiting for its files.
func (c *Client) CancelNow(ctx context.Context, id string) (Job, error) {
	return postJSON[Job](ctx, c, jobPath(id, "/cancel?now=1"), nil)
}

// MigrateJob moves a job; to is a cluster, or "" for wherever it ends soonest.
func (c *Client) MigrateJob(ctx context.Context, id, to string) (Done, error) {
	return postJSON[Done](ctx, c, jobPath(id, "/migrate"), Migrate{to})
}

// ResizeJob has a malleable job that runs change its size.
func (c *Client) ResizeJob(ctx context.Context, id string, size Resize) (Done, error) {
	return postJSON[Done](ctx, c, jobPath(id, "/resize"), size)
}

// HoldJob keeps a job that does not run from starting until it is released.
func (c *Client) HoldJob(ctx context.Context, id string) (Done, error) {
	return postJSON[Done](ctx, c, jobPath(id, "/hold"), nil)
}

// ReleaseJob lets a job start that was held.
func (c *Client) ReleaseJob(ctx context.Context, id string) (Done, error) {
	return postJSON[Done](ctx, c, jobPath(id, "/release"), nil)
}

// RequeueJob has a job that runs stop, saved if it can be, and start again later.
func (c *Client) RequeueJob(ctx context.Context, id string, how Requeue) (Done, error) {
	return postJSON[Done](ctx, c, jobPath(id, "/requeue"), how)
}

// SuspendJob halts the program of a job that runs; it keeps its cores.
func (c *Client) SuspendJob(ctx context.Context, id string) (Done, error) {
	return postJSON[Done](ctx, c, jobPath(id, "/suspend"), nil)
}

// ResumeJob lets a suspended job go on.
func (c *Client) ResumeJob(ctx context.Context, id string) (Done, error) {
	return postJSON[Done](ctx, c, jobPath(id, "/resume"), nil)
}

// UpdateJob changes what a job asks for.
func (c *Client) UpdateJob(ctx context.Context, id string, u *Update) (Done, error) {
	return postJSON[Done](ctx, c, jobPath(id, "/update"), u)
}

// CheckpointJob saves a job now.
func (c *Client) CheckpointJob(ctx context.Context, id string) (Done, error) {
	return postJSON[Done](ctx, c, jobPath(id, "/checkpoint"), nil)
}

// ExplainJob lists what was decided for a job.
func (c *Client) ExplainJob(ctx context.Context, id string) ([]Decision, error) {
	return getJSON[[]Decision](ctx, c, jobPath(id, "/explain"))
}

// QuoteJob asks what each cluster would make of a job.
func (c *Client) QuoteJob(ctx context.Context, s *Submit) ([]Quote, error) {
	return postJSON[[]Quote](ctx, c, "/v1/quote", s)
}

// EstimateCommands says how long commands run, by earlier runs.
func (c *Client) EstimateCommands(ctx context.Context, s *Commands) ([]Estimate, error) {
	return postJSON[[]Estimate](ctx, c, "/v1/estimates", s)
}

// ListClusters lists the clusters.
func (c *Client) ListClusters(ctx context.Context) ([]Cluster, error) {
	return getJSON[[]Cluster](ctx, c, "/v1/clusters")
}

// DrainClusters has nothing new placed on clusters or hosts.
func (c *Client) DrainClusters(ctx context.Context, d *Drains) ([]Drained, error) {
	return postJSON[[]Drained](ctx, c, "/v1/drain", d)
}

// UndrainClusters has clusters and hosts used again.
func (c *Client) UndrainClusters(ctx context.Context, d *Drains) ([]Drained, error) {
	return postJSON[[]Drained](ctx, c, "/v1/undrain", d)
}

// RunHistory is what past runs were like, of one program or of all.
func (c *Client) RunHistory(ctx context.Context, program string) ([]History, error) {
	path := "/v1/history"
	if program != "" {
		path += "?program=" + url.QueryEscape(program)
	}
	return getJSON[[]History](ctx, c, path)
}

// PredictionCalibration is how past predictions held.
func (c *Client) PredictionCalibration(ctx context.Context) (Calibration, error) {
	return getJSON[Calibration](ctx, c, "/v1/history/calibration")
}

// ShutdownBroker ends the broker; jobs run on.
func (c *Client) ShutdownBroker(ctx context.Context) (Done, error) {
	return postJSON[Done](ctx, c, "/v1/shutdown", nil)
}

// ReloadSettings has the broker read its settings again.
func (c *Client) ReloadSettings(ctx context.Context) (Reloaded, error) {
	return postJSON[Reloaded](ctx, c, "/v1/reload", nil)
}

// CopyLogs copies what a job wrote to stdout (1) or stderr (2), from an offset on,
// and with follow until the job has ended. It returns how many bytes came.
func (c *Client) CopyLogs(ctx context.Context, id string, stream int, offset int64, follow bool,
	to io.Writer) (int64, error) {
	return c.CopyPartLogs(ctx, id, 0, stream, offset, follow, to)
}

// CopyPartLogs does so with what one of several parts of a job wrote.
func (c *Client) CopyPartLogs(ctx context.Context, id string, part, stream int, offset int64, follow bool,
	to io.Writer) (int64, error) {
	q := "/logs?stream=" + strconv.Itoa(stream) + "&offset=" + strconv.FormatInt(offset, 10)
	if part > 0 {
		q += "&part=" + strconv.Itoa(part)
	}
	if follow {
		q += "&follow=1"
	}
	resp, err := c.sendRequest(ctx, http.MethodGet, jobPath(id, q), nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	n, err := io.Copy(to, resp.Body)
	if err != nil {
		return n, fmt.Errorf("reading the output of job %s: %w", id, err)
	}
	return n, nil
}

// ExportLog copies the log of the broker, with the jobs submitted since a moment; 0: all of them.
func (c *Client) ExportLog(ctx context.Context, since core.Time, to io.Writer) error {
	resp, err := c.sendRequest(ctx, http.MethodGet, "/v1/log?since="+strconv.FormatInt(int64(since), 10), nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(to, resp.Body); err != nil {
		return fmt.Errorf("reading the log of the broker: %w", err)
	}
	return nil
}

// ErrBroken says that a stream ended before it should have: the broker went away.
var ErrBroken = errors.New("the broker went away")

// WatchJob calls see with every state of a job until the last one.
func (c *Client) WatchJob(ctx context.Context, id string, see func(*Live) error) error {
	isFinal := func(l *Live) bool { return l.Final }
	return watchStream(ctx, c, jobPath(id, "/watch"), "job "+id, isFinal, see)
}

// watchStream calls see with every state of something until the last one.
func watchStream[T any](ctx context.Context, c *Client, path, what string, isFinal func(*T) bool,
	see func(*T) error) error {
	resp, err := c.sendRequest(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	for lines := json.NewDecoder(resp.Body); ; {
		live := new(T)
		if err := lines.Decode(live); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("watching %s: %w (%w)", what, ErrBroken, err)
		}
		if err := see(live); err != nil {
			return err
		}
		if isFinal(live) {
			drainBody(resp.Body) // the broker ends it now
			return nil
		}
	}
}

func jobPath(id, what string) string { return "/v1/jobs/" + url.PathEscape(id) + what }

func getJSON[T any](ctx context.Context, c *Client, path string) (T, error) {
	return callJSON[T](ctx, c, http.MethodGet, path, nil)
}

func postJSON[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	return callJSON[T](ctx, c, http.MethodPost, path, body)
}

func callJSON[T any](ctx context.Context, c *Client, method, path string, body any) (T, error) {
	var answer T
	resp, err := c.sendRequest(ctx, method, path, body)
	if err != nil {
		return answer, err
	}
	defer drainBody(resp.Body)
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return answer, fmt.Errorf("the broker's answer to %s %s: %w", method, path, err)
	}
	return answer, nil
}

// sendRequest sends a request; what is no success comes back as an error.
func (c *Client) sendRequest(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, Base+path, content)
	if err != nil {
		return nil, err
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		var wrapped *url.Error // it repeats an address that means nothing to users
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		var silent *SilentError
		if errors.As(err, &silent) {
			return nil, silent
		}
		return nil, fmt.Errorf("asking the broker: %w", err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		defer drainBody(resp.Body)
		return nil, refusalError(resp)
	}
	return resp, nil
}

// maxRefusal bounds how much of a refusal is read.
const maxRefusal = 1 << 16

// refusalError is the error that the broker answered with: the user's mistake where it
// says so.
func refusalError(resp *http.Response) error {
	var e Error
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if err != nil || json.Unmarshal(data, &e) != nil || e.Text == "" {
		return &Refusal{text: "the broker answered " + resp.Status}
	}
	if e.Code == 2 {
		return &badinput.Error{Field: e.Field, Problem: e.Text}
	}
	return &Refusal{text: e.Text, Ending: resp.StatusCode == http.StatusServiceUnavailable}
}

// Refusal is what a broker answered that did not do what it was asked.
type Refusal struct {
	text string
	// Ending says that it ends: nobody knows how far it got.
	Ending bool
}

func (r *Refusal) Error() string { return r.text }

// drainBody reads what is left of a body that is no stream, so that the connection
// can be used again. A stream is only closed: nobody knows when more of it comes.
func drainBody(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 1<<12)
	_ = body.Close()
}
