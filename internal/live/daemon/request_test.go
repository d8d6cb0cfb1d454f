package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// ask sends a request as it is and gives the answer.
func (b *bed) ask(method, path string, body io.Reader) (status int, e api.Error, text string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, api.Base+path, body)
	if err != nil {
		b.Fatal(err)
	}
	resp, err := b.client.HTTP.Do(r)
	if err != nil {
		b.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatalf("%s %s: %v", method, path, err)
	}
	_ = json.Unmarshal(data, &e) // what is no error is looked at as text
	return resp.StatusCode, e, string(data)
}

// zeros is a body without end.
type zeros struct{ n int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.n <= 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.n)
	for i := range p[:n] {
		p[i] = ' '
	}
	z.n -= n
	return int(n), nil
}

func TestBadRequestsAreRefusedInOneLine(t *testing.T) {
	b := up(t, oneCluster)
	for _, c := range []struct {
		method, path, body string
		status, code       int
		text               string
	}{
		{"POST", "/v1/jobs", "{", 400, 2, "JSON"},
		{"POST", "/v1/jobs", "\x00\xff\xfe", 400, 2, "JSON"},
		{"POST", "/v1/jobs", "[]", 400, 2, "JSON"},
		{"POST", "/v1/jobs", `{"job": 7}`, 400, 2, "JSON"},
		{"POST", "/v1/jobs", `{"job": {"argv": "x"}}`, 400, 2, "JSON"},
		{"POST", "/v1/jobs", "", 400, 2, ""},
		{"POST", "/v1/jobs", `{"job": {}}`, 400, 2, ""},
		{"POST", "/v1/jobs", `{"job": {"argv": [""], "min": 1, "max": 1}}`, 400, 2, ""},
		{"POST", "/v1/jobs", `{"job": {"argv": ["x"], "min": -1, "max": -1}}`, 400, 2, ""},
		{"POST", "/v1/jobs", `{"job": {"argv": ["x"], "min": 5, "max": 2}}`, 400, 2, ""},
		{"POST", "/v1/jobs", `{"job": {"argv": ["x"], "min": 1000000, "max": 1000000}}`, 400, 2, ""},
		{"POST", "/v1/jobs", `{"job": {"argv": ["x"], "min": 1, "max": 1, "on": ["nowhere"]}}`, 400, 2, "nowhere"},
		{"POST", "/v1/jobs", `{"job": {"argv": ["x"], "min": 1, "max": 1, "array": {"First": 1, "Last": 2000000000, "Step": 1}}}`, 400, 2, ""},
		{"POST", "/v1/jobs", `{"job": {"argv": ["x"], "min": 1, "max": 1, "array": {"First": 9, "Last": 1, "Step": 1}}}`, 400,
			2, ""},
		{"POST", "/v1/jobs", `{"job": {"argv": ["x"], "min": 1, "max": 1}, "work": "nothing"}`, 400, 2, ""},
		{"POST", "/v1/quote", "{", 400, 2, "JSON"},
		{"GET", "/v1/jobs/x", "", 400, 2, ""},
		{"GET", "/v1/jobs/99", "", 400, 2, "99"},
		{"GET", "/v1/jobs/99/explain", "", 400, 2, "99"},
		{"GET", "/v1/jobs/99/logs?stream=1&offset=0", "", 400, 2, "99"},
		{"GET", "/v1/jobs/99/logs?stream=7&offset=0", "", 400, 2, "1 or 2"},
		{"GET", "/v1/jobs/99/logs?stream=1&offset=-1", "", 400, 2, "offset"},
		{"GET", "/v1/jobs/99/watch", "", 400, 2, "99"},
		{"POST", "/v1/jobs/99/cancel", "", 400, 2, "99"},
		{"POST", "/v1/jobs/99/migrate", "", 400, 2, "99"},
		{"POST", "/v1/jobs/99/checkpoint", "", 400, 2, "99"},
		{"GET", "/v1/nothing", "", 400, 2, "unknown request"},
		{"DELETE", "/v1/jobs/1", "", 400, 2, "unknown request"},
		{"GET", "/", "", 400, 2, "unknown request"},
		{"GET", "/v1/jobs/" + strings.Repeat("9", 5000), "", 400, 2, ""},
	} {
		name := c.method + " " + c.path[:min(60, len(c.path))] + " " + c.body
		status, e, text := b.ask(c.method, c.path, strings.NewReader(c.body))
		if status != c.status || e.Code != c.code || e.Text == "" || strings.Contains(e.Text, "\n") ||
			!strings.Contains(e.Text, c.text) || len(e.Text) > 6000 {
			t.Errorf("%s: %d %q, want %d, code %d and %q", name, status, text[:min(300, len(text))], c.status, c.code, c.text)
		}
	}
	if _, err := b.client.PingBroker(context.Background()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if jobs, err := b.client.ListJobs(context.Background(), true); err != nil || len(jobs) != 0 {
		t.Errorf("there are %d jobs, %v", len(jobs), err)
	}
}

func TestAHugeRequestIsRefusedBeforeItIsRead(t *testing.T) {
	b := up(t, oneCluster)
	status, e, _ := b.ask("POST", "/v1/jobs", &zeros{n: 64 << 20})
	if status != http.StatusBadRequest || e.Code != 2 || strings.Contains(e.Text, "\n") {
		t.Errorf("it is answered %d %+v", status, e)
	}
	spec := job("x", strings.Repeat("y", 1<<20))
	if _, err := b.client.SubmitJob(context.Background(), &api.Submit{Job: spec}); err != nil {
		t.Errorf("a long command: %v", err)
	}
}

func TestTheClientKnowsBadInputFromFailure(t *testing.T) {
	b := up(t, oneCluster)
	_, err := b.client.SubmitJob(context.Background(), &api.Submit{Job: jobfile.Job{}})
	var bad *badinput.Error
	if !errors.As(err, &bad) || strings.Contains(err.Error(), "\n") {
		t.Errorf("an empty job gives %v", err)
	}
}
