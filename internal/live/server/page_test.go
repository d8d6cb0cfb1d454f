package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestAListIsReadPageByPage(t *testing.T) {
	b := newBench(t)
	var hers []core.JobID
	for i := range 7 {
		hers = append(hers, b.submit(alice, fmt.Sprintf("job%d", i%2)))
		b.submit(bob, secret)
	}
	slices.Reverse(hers)
	read := func(query string) (ids []core.JobID) {
		for cursor := ""; ; {
			page := b.page(alice, query+cursor)
			total := 0
			for _, n := range page.Counts { // order-free: summed
				total += n
			}
			if total != len(hers) {
				t.Errorf("%d of alice's jobs are counted: %v", total, page.Counts)
			}
			for i := range page.Jobs {
				ids = append(ids, page.Jobs[i].ID)
			}
			if cursor = "&cursor=" + page.Next; page.Next == "" {
				return ids
			}
		}
	}
	for _, limit := range []int{1, 3, 7, 100} {
		if got := read(fmt.Sprintf("limit=%d", limit)); !slices.Equal(got, hers) {
			t.Errorf("pages of %d have %v, want %v", limit, got, hers)
		}
	}
	if got := read("name=job1"); len(got) != 3 {
		t.Errorf("those named job1 are %v", got)
	}
	if got := read("text=JOB&state=done"); got != nil {
		t.Errorf("%v are done", got)
	}
	for query, want := range map[string]int{"limit=0": 400, "limit=x": 400, "cursor=-1": 400, "state=walking": 400,
		"deadline=soon": 400, "fields=id,secret": 400, "limit=5&users=1": 400, "state=waiting,running&deadline=without": 200} {
		if status, text := b.ask(alice, "GET", "/v1/jobs?"+query, ""); status != want {
			t.Errorf("%s: %d %s", query, status, text)
		}
	}
	_, text := b.ask(alice, "GET", "/v1/jobs?limit=1&fields=name,id", "")
	if want := fmt.Sprintf(`{"jobs":[{"name":"job0","id":%d}],"next":"%d"`, hers[0], hers[0]); !strings.HasPrefix(text, want) {
		t.Errorf("answered %s, want %s", text, want)
	}
	if _, text := b.ask(alice, "GET", "/v1/jobs?all=1", ""); !strings.HasPrefix(text, "[") {
		t.Errorf("clients of before are answered %s", text)
	}
	if page := b.page(root, "users=1&limit=100&state=waiting"); len(page.Jobs) != 14 {
		t.Errorf("root sees %d jobs", len(page.Jobs))
	}
}

// page is a page of a list of jobs.
func (b *bench) page(u broker.User, query string) (page api.JobPage) {
	b.Helper()
	status, text := b.ask(u, http.MethodGet, "/v1/jobs?"+query, "")
	if err := json.Unmarshal([]byte(text), &page); err != nil || status != http.StatusOK {
		b.Fatalf("%s: %d %s", query, status, text)
	}
	return page
}

func TestJobsAreSubmittedTogether(t *testing.T) {
	b := newBench(t)
	_, text := b.ask(alice, "POST", "/v1/jobs/bulk",
		`{"jobs":[{"job":{"argv":["a"],"min":1,"max":1}},{"job":{"argv":["b"],"min":1000,"max":1000,"workdir":"relative"}},{"job":{"argv":["c"],"min":1,"max":1}}]}`)
	var got api.SubmittedMany
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Jobs) != 3 {
		t.Fatalf("%s, %v", text, err)
	}
	if len(got.Jobs[0].IDs) != 1 || got.Jobs[1].Error == nil || len(got.Jobs[2].IDs) != 1 {
		t.Errorf("answered %s", text)
	}
}

// stream is the stream of changes as somebody follows it.
type stream struct {
	t    *testing.T
	body io.ReadCloser
	in   *bufio.Reader
	stop func()
}

func (b *bench) followChanges(u broker.User, query, lastEventID string) *stream {
	b.Helper()
	ctx, stop := context.WithTimeout(b.Context(), 3*time.Minute)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, api.Base+"/v1/events"+query, nil)
	if err != nil {
		b.Fatal(err)
	}
	if lastEventID != "" {
		req.Header.Set("Last-Event-ID", lastEventID)
	}
	resp, err := b.clients[u.ID].HTTP.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	s := &stream{t: b.T, body: resp.Body, in: bufio.NewReader(resp.Body), stop: func() { stop(); _ = resp.Body.Close() }}
	b.Cleanup(s.stop)
	return s
}

// next is the next message with its id; comments are passed over.
func (s *stream) next() (id string, m api.Changes) {
	s.t.Helper()
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		if text, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(text)
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(text), &m); err != nil {
				s.t.Fatalf("%s: %v", text, err)
			}
			return id, m
		}
	}
}

// until follows until a job is in a state, and returns all changes with the last id.
func (s *stream) until(job core.JobID, state core.State) (id string, all []api.Change) {
	s.t.Helper()
	for {
		var m api.Changes
		id, m = s.next()
		all = append(all, m.Changes...)
		for _, c := range m.Changes {
			if c.Job == job && c.To != nil && *c.To == state {
				return id, all
			}
		}
	}
}

func TestTheStreamTellsOfOnesOwnJobs(t *testing.T) {
	b := newBench(t)
	s := b.followChanges(alice, "", "")
	from, _ := s.next()
	his, hers := b.submit(bob, secret), b.submit(alice, "hers")
	if _, err := b.clients[bob.ID].CancelNow(t.Context(), fmt.Sprint(his)); err != nil {
		t.Log(err) // nobody releases it: it is being cancelled all the same
	}
	middle, first := s.until(hers, core.Queued)
	s.stop() // and comes back
	second := b.submit(alice, "hers")
	_, later := b.followChanges(alice, "", middle).until(second, core.Queued)
	_, whole := b.followChanges(alice, "?since="+from, "").until(second, core.Queued)
	if diff := cmp.Diff(whole, append(first, later...)); diff != "" {
		t.Errorf("in two pieces it is another stream (-whole +pieces)\n%s", diff)
	}
	for i, c := range whole {
		if c.Job == his || i > 0 && c.Event <= whole[i-1].Event {
			t.Errorf("alice is told %+v", c)
		}
	}
	if _, m := b.followChanges(alice, "?since=99999999", "").next(); !m.Reset {
		t.Errorf("after an event that there never was: %+v", m)
	}
	_, m := b.followChanges(alice, fmt.Sprintf("?job=%d&job=%d", hers, his), "1").next()
	if len(m.Jobs) != 1 || m.Jobs[0].ID != hers {
		t.Errorf("looking at both jobs alice sees %+v", m.Jobs)
	}
	if status, text := b.ask(bob, "GET", "/v1/events?users=1", ""); status != 400 {
		t.Errorf("bob follows the jobs of all: %d %s", status, text)
	}
}

func TestEveryRequestIsDescribed(t *testing.T) {
	b := newBench(t)
	described := map[string]bool{}
	for _, op := range api.Operations() {
		if described[op.Method+" "+op.Path] {
			t.Errorf("%s %s is described twice", op.Method, op.Path)
		}
		described[op.Method+" "+op.Path] = true
	}
	for pattern := range b.routes {
		switch pattern {
		case "/", wire.Depot, "POST " + wire.Path, "POST " + poolwork.Path: // for agents and workers
			continue
		}
		if !described[pattern] {
			t.Errorf("%s is not among api.Operations", pattern)
		}
		delete(described, pattern)
	}
	for _, left := range slices.Sorted(maps.Keys(described)) {
		t.Errorf("%s is described, and there is no such request", left)
	}
	_, text := b.ask(alice, "GET", "/v1/openapi.json", "")
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any
				Required   []string
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	for ref := range strings.SplitSeq(text, `"$ref":"#/components/schemas/`) {
		name, _, _ := strings.Cut(ref, `"`)
		if _, there := doc.Components.Schemas[name]; !there && !strings.HasPrefix(ref, "{") {
			t.Errorf("schema %q is not there", name)
		}
	}
	// What is answered is what the document says.
	b.submit(alice, "a")
	_, text = b.ask(alice, "GET", "/v1/jobs/1", "")
	var job map[string]any
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		t.Fatal(err)
	}
	schema := doc.Components.Schemas["Job"]
	for name := range job {
		if schema.Properties[name] == nil {
			t.Errorf("a job has %s, which is not described", name)
		}
	}
	for _, name := range schema.Required {
		if _, there := job[name]; !there {
			t.Errorf("a job has no %s", name)
		}
	}
}

func TestMetricsNameNobody(t *testing.T) {
	b := newBench(t)
	b.submit(alice, secret)
	_, text := b.ask(bob, "GET", "/metrics", "")
	for _, want := range []string{`godwit_jobs{state="queued"} 1`, `godwit_cluster_up{cluster="a"} 1`,
		`godwit_cluster_cores{cluster="a"} 100`, `godwit_job_wait_seconds_bucket{le="+Inf"} 0`, "godwit_events_total "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "alice") || strings.Contains(text, secret) {
		t.Errorf("it tells of alice:\n%s", text)
	}
}
