package server

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/dashboard"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// proxy is the dashboard of a user, as a browser meets it.
type openedDashboard struct {
	*bench
	*dashboard.BrowserProxy
	url, session string
	next         string // token that was told when one was used
}

func (b *bench) openDashboard(u broker.User) *openedDashboard {
	b.Helper()
	d := &openedDashboard{bench: b}
	d.BrowserProxy = dashboard.NewBrowserProxy(dashboard.Options{Broker: b.clients[u.ID].HTTP.Transport, Hosts: []string{"desk.example.org"},
		Pages: fstest.MapFS{"index.html": {Data: []byte("a page")}}, Used: func(next string) { d.next = next }})
	s := httptest.NewServer(d.BrowserProxy)
	b.Cleanup(s.Close)
	d.url = s.URL
	token := d.Token()
	resp := d.send(http.MethodPost, "/session", fmt.Sprintf(`{"token":%q}`, token))
	if resp.status != http.StatusNoContent {
		b.Fatalf("the token opens nothing: %+v", resp)
	}
	cookie := resp.header.Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Strict"} {
		if !strings.Contains(cookie, want) {
			b.Errorf("the cookie is %q, not %s", cookie, want)
		}
	}
	d.session, _, _ = strings.Cut(cookie, ";")
	if again := d.send(http.MethodPost, "/session", fmt.Sprintf(`{"token":%q}`, token)); again.status != http.StatusUnauthorized {
		b.Errorf("a token is used twice: %+v", again)
	}
	if d.next == "" || d.next != d.Token() {
		b.Errorf("the next token is %q, %q was told", d.Token(), d.next)
	}
	return d
}

type answer struct {
	status int
	text   string
	header http.Header
}

// send sends a request with headers, names and values in turn.
func (d *openedDashboard) send(method, path, body string, headers ...string) answer {
	d.Helper()
	req, err := http.NewRequestWithContext(d.Context(), method, d.url+path, strings.NewReader(body))
	if err != nil {
		d.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if req.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		d.Fatal(err)
	}
	return answer{resp.StatusCode, string(text), resp.Header}
}

// TestTheDashboardIsShutToStrangers goes through all requests that there are.
func TestTheDashboardIsShutToStrangers(t *testing.T) {
	b := newBench(t)
	id := b.submit(alice, secret, secret)
	his := b.openDashboard(bob)
	for pattern := range b.routes {
		method, path, ok := strings.Cut(pattern, " ")
		if !ok {
			method, path = http.MethodPost, pattern
		}
		if path == "/" {
			path = "/v1/nothing"
		}
		path = strings.ReplaceAll(path, "{id}", fmt.Sprint(id))
		for what, c := range map[string]struct {
			status  int
			headers []string
		}{
			"without a session":     {http.StatusUnauthorized, nil},
			"with a wrong session":  {http.StatusUnauthorized, []string{"Cookie", his.session + "0"}},
			"by another name":       {http.StatusMisdirectedRequest, []string{"Cookie", his.session, "Host", "evil.example.org"}},
			"by a name that begins": {http.StatusMisdirectedRequest, []string{"Cookie", his.session, "Host", "localhost.evil.example.org:80"}},
			"from another page":     {http.StatusForbidden, []string{"Cookie", his.session, "Origin", "https://evil.example.org"}},
			"from another port":     {http.StatusForbidden, []string{"Cookie", his.session, "Origin", "http://127.0.0.1:1"}},
			"from nowhere":          {http.StatusForbidden, []string{"Cookie", his.session, "Origin", "null"}},
			"from another site":     {http.StatusForbidden, []string{"Cookie", his.session, "Sec-Fetch-Site", "cross-site"}},
		} {
			if got := his.send(method, path, "", c.headers...); got.status != c.status || strings.Contains(got.text, secret) {
				t.Errorf("%s %s: %d %s, want %d", pattern, what, got.status, got.text, c.status)
			}
		}
		if path == "/v1/events" {
			continue // does not end
		}
		got := his.send(method, path+"?stream=1&offset=0", "", "Cookie", his.session)
		if strings.Contains(got.text, secret) || about[pattern] == aboutAJob && got.status < 400 || about[pattern] == aboutIt && got.status < 400 {
			t.Errorf("%s: bob is told %d %s", pattern, got.status, got.text)
		}
		switch pattern {
		case "POST /v1/shutdown", "POST " + wire.Path, "POST " + poolwork.Path, wire.Depot, "/":
			if got.status != http.StatusNotFound {
				t.Errorf("%s is handed on: %d %s", pattern, got.status, got.text)
			}
		}
	}
	if j, err := b.clients[alice.ID].GetJob(t.Context(), fmt.Sprint(id)); err != nil || j.IsOver() {
		t.Errorf("alice's job is %+v, %v", j, err)
	}
}

func TestTheDashboardIsOpenToItsUser(t *testing.T) {
	b := newBench(t)
	id := b.submit(alice, secret, secret)
	hers := b.openDashboard(alice)
	for _, headers := range [][]string{nil, {"Origin", hers.url}, {"Host", "desk.example.org"}, {"Host", "localhost:1234"},
		{"Host", "desk.example.org", "Origin", "https://desk.example.org"}, {"Sec-Fetch-Site", "same-origin"}} {
		got := hers.send(http.MethodGet, fmt.Sprintf("/v1/jobs/%d", id), "", append(headers, "Cookie", hers.session)...)
		if got.status != http.StatusOK || !strings.Contains(got.text, secret) {
			t.Errorf("with %v alice is told %d %s", headers, got.status, got.text)
		}
	}
	page := hers.send(http.MethodGet, "/", "")
	if page.status != http.StatusOK || !strings.HasPrefix(page.header.Get("Content-Security-Policy"), "default-src 'self'") {
		t.Errorf("the page is %+v", page)
	}
	if got := hers.send(http.MethodPost, "/v1/jobs", `{"job":{"argv":["x"],"min":1,"max":1}}`, "Cookie", hers.session); got.status != 200 {
		t.Errorf("alice may not submit: %+v", got)
	}
	if got := hers.send(http.MethodPost, "/session", strings.Repeat("x", 10_000)); got.status != http.StatusBadRequest {
		t.Errorf("a token of 10,000 characters: %+v", got)
	}
	var other core.JobID = 999999
	if got := hers.send(http.MethodPost, fmt.Sprintf("/v1/jobs/%d/cancel", other), "", "Cookie", hers.session); got.status != 400 ||
		!strings.Contains(got.text, "no such job") {
		t.Errorf("a job that is not there: %+v", got)
	}
}
