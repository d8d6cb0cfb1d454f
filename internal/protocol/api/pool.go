package api

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

// PoolSubmit is a pool of work items, for each of which a command is run.
type PoolSubmit struct {
	// Key is made up by who submits. A pool that its owner submitted with the same key before is
	// not submitted again.
	Key   string `json:"key"`
	Items []byte `json:"items"` // lines
	// Job is what a worker is: its command is run for each item.
	Job  jobfile.Job `json:"job"`
	Work string      `json:"work,omitempty"` // tree in the depot: its working directory
	Min  int         `json:"min"`            // workers
	Max  int         `json:"max"`
}

// PoolSubmitted is what became of it.
type PoolSubmitted struct {
	ID    int64 `json:"id"`
	Items int   `json:"items"`
}

// Pool is a pool as it is shown. What is not known, or has not happened, is null.
type Pool struct {
	ID        int64  `json:"id"`
	User      string `json:"user"`
	Name      string `json:"name"`
	State     string `json:"state"` // running, cancelling, completed, failed, cancelled
	Why       string `json:"why"`   // it is in this state
	Submitted *Time  `json:"submitted"`
	Ended     *Time  `json:"ended"`
	Items     int    `json:"items"`
	Done      int    `json:"done"`   // that were counted and succeeded
	Failed    int    `json:"failed"` // that were counted and did not
	Workers   int    `json:"workers"`
	Queued    int    `json:"workers_queued"` // of them those that do not run yet
	Started   int    `json:"workers_started"`

	ItemsPerS    float64 `json:"items_per_s"` // lately; of one that is over: in the mean
	ItemS        float64 `json:"item_s"`      // that an item takes in the mean
	PredictedEnd *Time   `json:"predicted_end"`
}

// IsOver says whether nothing happens to it any more.
func (p *Pool) IsOver() bool {
	return p.State == "completed" || p.State == "failed" || p.State == "cancelled"
}

// PoolFailure is an item that failed.
type PoolFailure struct {
	Item int    `json:"item"` // its place, from 1
	Text string `json:"text"`
	Code int    `json:"exit_code"`
	Lost bool   `json:"lost"` // its workers were lost, again and again
}

// PoolLive is one line of a watched pool.
type PoolLive struct {
	Pool  Pool `json:"pool"`
	Final bool `json:"final,omitempty"`
}

// SubmitPool hands in a pool.
func (c *Client) SubmitPool(ctx context.Context, s *PoolSubmit) (PoolSubmitted, error) {
	return postJSON[PoolSubmitted](ctx, c, "/v1/pools", s)
}

// ListPools lists the pools: those that run and the last few, or all.
func (c *Client) ListPools(ctx context.Context, all bool) ([]Pool, error) {
	path := "/v1/pools"
	if all {
		path += "?all=1"
	}
	return getJSON[[]Pool](ctx, c, path)
}

// GetPool is one pool; ref is its number, or last.
func (c *Client) GetPool(ctx context.Context, ref string) (Pool, error) {
	return getJSON[Pool](ctx, c, poolPath(ref, ""))
}

// CancelPool ends a pool and returns when nothing of it runs any more.
func (c *Client) CancelPool(ctx context.Context, ref string) (Pool, error) {
	return postJSON[Pool](ctx, c, poolPath(ref, "/cancel"), nil)
}

// ListPoolFailures lists the first of the items that failed.
func (c *Client) ListPoolFailures(ctx context.Context, ref string) ([]PoolFailure, error) {
	return getJSON[[]PoolFailure](ctx, c, poolPath(ref, "/failures"))
}

// WatchPool calls see with every state of a pool until the last one.
func (c *Client) WatchPool(ctx context.Context, ref string, see func(*PoolLive) error) error {
	isFinal := func(l *PoolLive) bool { return l.Final }
	return watchStream(ctx, c, poolPath(ref, "/watch"), "pool "+ref, isFinal, see)
}

// PoolOutcomes is what became of the items of a pool, as package poolwork writes it down, from
// an offset on and until the pool is over.
func (c *Client) PoolOutcomes(ctx context.Context, ref string, offset int64) (io.ReadCloser, error) {
	resp, err := c.sendRequest(ctx, http.MethodGet, poolPath(ref, "/outcomes?offset="+strconv.FormatInt(offset, 10)), nil)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

func poolPath(ref, what string) string { return "/v1/pools/" + url.PathEscape(ref) + what }
