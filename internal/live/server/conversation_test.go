package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/protocol/wire/wiretest"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// client is bob, who asks for whatever the script says.
type client struct {
	*bench
	*wiretest.Script
	hers core.JobID
	his  []core.JobID
}

// job is one that a user may submit, or not.
func (c *client) job() jobfile.Job {
	j := jobfile.Job{Name: c.NextText(), Argv: append([]string{c.NextText()}, c.NextTexts()...), Min: int(c.NextInt()),
		Max: int(c.NextInt())}
	switch c.PickOne(8) {
	case 0:
		j.After = []jobfile.Dependency{{Job: fmt.Sprint(c.reference())}}
	case 1:
		j.Workdir, j.Outputs = c.NextText(), c.NextTexts()
	case 2:
		j.Memory, j.Processes, j.Retries, j.Nodes = c.NextInt(), int(c.NextInt()), int(c.NextInt()), int(c.NextInt())
	case 3:
		j.Env, j.Key = map[string]string{c.NextText(): c.NextText()}, c.NextText()
	case 4:
		j.On, j.Time = c.NextTexts(), time.Duration(c.NextInt())
	}
	return j
}

// reference is a job that may be hers, his or nobody's.
func (c *client) reference() core.JobID {
	switch {
	case c.PickOne(3) == 0:
		return c.hers
	case len(c.his) > 0 && c.PickOne(2) == 0:
		return c.his[c.PickOne(len(c.his))]
	}
	return core.JobID(c.NextInt())
}

// request sends a request as bob and looks at what is answered. Some are answered only
// when something happens: nobody waits for that.
func (c *client) request(method, path string, body []byte) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), 20*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, api.Base+path, bytes.NewReader(body))
	if err != nil {
		return // no request can be made of that
	}
	resp, err := c.clients[bob.ID].HTTP.Do(req)
	if err != nil {
		return
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // what came in time
	if strings.Contains(string(text), secret) {
		c.Errorf("%s %s %s tells bob %s", method, path, body, text)
	}
	if submitted := new(api.Submitted); method == http.MethodPost && path == "/v1/jobs" &&
		json.Unmarshal(text, submitted) == nil {
		c.his = append(c.his, submitted.IDs[:min(8, len(submitted.IDs))]...)
	}
}

func (c *client) encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		c.Fatal(err)
	}
	return text
}

// speak connects as an agent of some job and says a few things.
func (c *client) speak() {
	id := c.reference()
	a, ok := c.cluster.attempt(id)
	if !ok {
		a = wire.Attempt{Job: id, Epoch: core.Epoch(c.NextInt()), Mark: c.NextText()}
	}
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	var d net.Dialer
	raw, err := d.DialContext(ctx, "tcp", c.at[bob.ID])
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	conn, err := wire.UpgradeConn(ctx, raw)
	if err != nil {
		c.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, conn.R) }()
	_ = wire.WriteFrame(conn, &wire.Message{Kind: wire.Hello, Job: a.Job, Epoch: a.Epoch, Mark: a.Mark})
	for n := range c.PickOne(6) {
		m := c.NextMessage()
		m.Seq = uint64(n + 1)
		_ = wire.WriteFrame(conn, &m) // it may have hung up
	}
}

func (c *client) ask() {
	patterns := []string{"", "/cancel", "/migrate", "/checkpoint", "/explain", "/logs?stream=1&offset=0", "/watch",
		"/logs?stream=2&offset=0&follow=1"}
	switch c.PickOne(9) {
	case 0, 1:
		c.request(http.MethodPost, "/v1/jobs", c.encoded(&api.Submit{Job: c.job(), Work: c.NextText(), Stdin: c.NextText()}))
	case 2:
		method := []string{http.MethodGet, http.MethodPost}[c.PickOne(2)]
		c.request(method, fmt.Sprintf("/v1/jobs/%d%s", c.reference(), patterns[c.PickOne(len(patterns))]),
			c.encoded(&api.Migrate{To: c.NextText()}))
	case 3:
		c.request(http.MethodGet, "/v1/select?job="+[]string{"all", "last", "1-99", "1_*", "*"}[c.PickOne(5)], nil)
	case 4:
		all := []string{"/v1/jobs?all=1", "/v1/jobs?users=1", "/v1/clusters", "/v1/history", "/v1/history/calibration",
			"/v1/depot-usage", "/v1/hosts", "/v1/weather", "/v1/ping"}
		c.request(http.MethodGet, all[c.PickOne(len(all))], nil)
	case 5:
		c.request(http.MethodPost, []string{"/v1/quote", "/v1/estimates", "/v1/depot-prune", "/v1/shutdown",
			"/v1/reload"}[c.PickOne(5)], c.encoded(&api.Submit{Job: c.job()}))
	case 6:
		c.request(http.MethodPost, wire.Depot+[]string{"put", "get", "missing", "hold", "patch", "sync"}[c.PickOne(6)],
			c.TakeBytes(64))
	case 7:
		c.request([]string{"GET", "POST", "PUT", "X"}[c.PickOne(4)], "/"+c.NextText(), c.TakeBytes(64))
	case 8:
		c.speak()
	}
}

// answerLimit is how long a user may wait for an answer while another asks for whatever
// they like: a second where the machine has nothing else to do (GODWIT_FUZZ_STRICT).
func answerLimit() time.Duration {
	if os.Getenv("GODWIT_FUZZ_STRICT") != "" {
		return time.Second
	}
	return time.Minute
}

// Whatever one user asks for, in whatever order: nobody else's job is seen or touched,
// and the others are answered.
func FuzzClientConversation(f *testing.F) {
	f.Add([]byte("\x00\x01\x01\x00\x01\x01\x07\x00\x00\x02\x00\x01\x00\x03\x00\x04\x00\x08\x01\x00\x03\x05\x05\x05"))
	f.Add([]byte("\x00\x01\x01\x00\x01\x01\x00\x00\x00\x00\x02\x01\x00\x01\x00\x05\x04\x06\x00abcdefgh"))
	f.Add([]byte("\x01\x03\x01\x01\x05\x0a\x0b\x02\x0b\x0a\x09\x05\x02\x01\x01\x02\x08\x00\x05\x03\x01\x02\x00\x01\x01"))
	f.Add([]byte("\x07\x00\x06\x02\x06\x00\x05\x03\x04\x01\x03\x00\x02\x00\x06\x02\x00\x07\x08\x01\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &client{bench: newBench(t), Script: wiretest.NewScript(data)}
		c.hers = c.submit(alice, secret, secret)
		for n := 0; n < 24 && c.HasMore(); n++ {
			c.ask()
		}
		ctx, cancel := context.WithTimeout(t.Context(), answerLimit())
		defer cancel()
		jobs, err := c.clients[alice.ID].ListJobs(ctx, true)
		if err != nil || len(jobs) != 1 || jobs[0].ID != c.hers || jobs[0].IsOver() ||
			!slices.Equal(jobs[0].Command, []string{secret, secret}) {
			t.Errorf("alice has %+v, %v", jobs, err)
		}
	})
}
