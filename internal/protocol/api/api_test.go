package api

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// serve makes a handler reachable on a socket and returns a client.
func serve(t testing.TB, h http.HandlerFunc) *Client {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(h)
	srv.Listener.Close()
	srv.Listener = l
	srv.Start()
	c := DialBroker(socket)
	t.Cleanup(func() {
		c.Close()
		srv.Close()
	})
	return c
}

func TestMomentsAreInUTCAndEquallyLong(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	at := Time{time.Date(2026, 3, 1, 14, 0, 0, 120_000_000, zone)}
	data, err := json.Marshal(&at)
	if err != nil || string(data) != `"2026-03-01T12:00:00.120Z"` {
		t.Fatal(string(data), err)
	}
	var back Time
	if err := json.Unmarshal(data, &back); err != nil || !back.Equal(at.Time) {
		t.Error(back, err)
	}
	if TimeAt(0) != nil || TimeAt(core.Never) != nil || TimeAt(core.AtSecond(5)).Unix() != 5 {
		t.Error("moments that mean none are not null")
	}
}

func TestTheFieldsThatOthersReadAreThereEvenIfNothingIsKnown(t *testing.T) {
	for what, c := range map[string]struct {
		value  any
		fields string
	}{
		"show": {Job{State: core.Submitted},
			`id name state cluster hosts submitted started ended exit_code deadline p_deadline predicted_end
			migrations checkpoints cpu_s wall_s`},
		"explain": {Decision{}, "time kind choice why inputs"},
		"quote":   {Quote{}, "cluster wait_s transfer_s run_s finish_p50 finish_p90 p_deadline reason"},
	} {
		data, err := json.Marshal(c.value)
		var got map[string]any
		if err != nil || json.Unmarshal(data, &got) != nil {
			t.Fatal(what, err)
		}
		for _, field := range strings.Fields(c.fields) {
			if _, ok := got[field]; !ok {
				t.Errorf("%s lacks %s", what, field)
			}
		}
	}
}

func TestRefusalsBecomeErrorsWithTheirExitCode(t *testing.T) {
	for body, want := range map[string]struct {
		bad  bool
		text string
	}{
		`{"error": "no job 9", "code": 1}`:                 {false, "no job 9"},
		`{"error": "a number", "field": "job", "code": 2}`: {true, "job: a number"},
		`<html>`:                   {false, "the broker answered 409 Conflict"},
		`{"error": "", "code": 2}`: {false, "the broker answered 409 Conflict"},
		`{"error": "` + strings.Repeat("x", 1<<17) + `", "code": 2}`: {false, "the broker answered 409 Conflict"},
	} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, body, http.StatusConflict) })
		_, err := c.GetJob(context.Background(), "9")
		if err == nil || err.Error() != want.text || badinput.Is(err) != want.bad {
			t.Errorf("%.60s: %v", body, err)
		}
	}
}

func TestTheClientAsksWhatTheServerKnows(t *testing.T) {
	var asked []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
		if strings.Contains(r.URL.Path, "explain") || strings.HasSuffix(r.URL.Path, "jobs") && r.Method == "GET" ||
			strings.HasSuffix(r.URL.Path, "history") ||
			strings.HasSuffix(r.URL.Path, "quote") || strings.HasSuffix(r.URL.Path, "estimates") ||
			strings.HasSuffix(r.URL.Path, "clusters") || strings.HasSuffix(r.URL.Path, "drain") {
			w.Write([]byte("[]"))
			return
		}
		w.Write([]byte("{}"))
	})
	ctx := context.Background()
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	_, err := c.PingBroker(ctx)
	note(err)
	_, err = c.SubmitJob(ctx, &Submit{})
	note(err)
	_, err = c.ListJobs(ctx, true)
	note(err)
	_, err = c.GetJob(ctx, "a/b")
	note(err)
	_, err = c.CancelJob(ctx, "1")
	note(err)
	_, err = c.MigrateJob(ctx, "1", "x")
	note(err)
	_, err = c.CheckpointJob(ctx, "1")
	note(err)
	_, err = c.ExplainJob(ctx, "1")
	note(err)
	_, err = c.QuoteJob(ctx, &Submit{})
	note(err)
	_, err = c.EstimateCommands(ctx, &Commands{})
	note(err)
	_, err = c.ListClusters(ctx)
	note(err)
	_, err = c.DrainClusters(ctx, &Drains{})
	note(err)
	_, err = c.UndrainClusters(ctx, &Drains{})
	note(err)
	_, err = c.RunHistory(ctx, "a b")
	note(err)
	_, err = c.PredictionCalibration(ctx)
	note(err)
	_, err = c.ShutdownBroker(ctx)
	note(err)
	_, err = c.CopyLogs(ctx, "1", 2, 7, true, os.NewFile(0, ""))
	note(err)
	if err := errors.Join(errs[:len(errs)-1]...); err != nil {
		t.Error(err)
	}
	want := "GET /v1/ping|POST /v1/jobs|GET /v1/jobs?all=1|GET /v1/jobs/a%2Fb|POST /v1/jobs/1/cancel|POST " +
		"/v1/jobs/1/migrate|POST /v1/jobs/1/checkpoint|" +
		"GET /v1/jobs/1/explain|POST /v1/quote|POST /v1/estimates|GET /v1/clusters|POST /v1/drain|POST /v1/undrain|GET /v1/history?program=a+b|GET " +
		"/v1/history/calibration|POST /v1/shutdown|" +
		"GET /v1/jobs/1/logs?stream=2&offset=7&follow=1"
	if got := strings.Join(asked, "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAStreamThatEndsTooEarlyIsAnError(t *testing.T) {
	for body, want := range map[string]string{
		"":                           "EOF",
		`{"job": {"state": "DONE"}}`: "EOF",
		`{"job": `:                   "unexpected EOF",
		`{"final": true, "job": {"state": "DONE"}}`: "",
	} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(body)) })
		err := c.WatchJob(context.Background(), "1", func(*Live) error { return nil })
		if want == "" && err != nil || want != "" &&
			(!errors.Is(err, ErrBroken) || !strings.HasSuffix(err.Error(), want+")")) {
			t.Errorf("%q: %v", body, err)
		}
	}
}

// FuzzWatch hears anything from the broker: it is understood to its end or an
// error.
func FuzzWatch(f *testing.F) {
	f.Add([]byte(`{"job": {"id": 3, "state": "RUNNING", "submitted": "2026-03-01T12:00:00.000Z"}, "news": [{"time": "2026-03-01T12:00:00.000Z"}]}` + "\n" + `{"final": true, "job": {"state": "DONE"}}`))
	f.Add([]byte(`{"job": {"state": "NOWHERE"}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c := &Client{HTTP: &http.Client{Transport: fixed(body)}}
		final := false
		err := c.WatchJob(context.Background(), "1", func(l *Live) error {
			final = l.Final
			_, err := json.Marshal(l)
			return err
		})
		if err == nil && !final {
			t.Fatalf("%q ended well without an end", body)
		}
	})
}

type fixed []byte

func (f fixed) RoundTrip(*http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	rec.Write(f)
	return rec.Result(), nil
}

func TestTheStateFolderIsTheUsersChoiceOrTheXDGFolder(t *testing.T) {
	for _, c := range []struct{ state, xdg, home, want string }{
		{"/a/b", "/x", "/h", "/a/b"},
		{"", "/x", "/h", "/x/godwit"},
		{"", "relative", "/h", "/h/.local/state/godwit"},
		{"", "", "/h", "/h/.local/state/godwit"},
		{"", "", "", ""},
	} {
		t.Setenv("GODWIT_STATE", c.state)
		t.Setenv("XDG_STATE_HOME", c.xdg)
		t.Setenv("HOME", c.home)
		got, err := StateDir()
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%+v: %q %v", c, got, err)
		}
	}
}

func TestASocketAlwaysHasAPathThatTheSystemTakes(t *testing.T) {
	if got := SocketPath("/s"); got != "/s/broker.sock" {
		t.Error(got)
	}
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	defer os.Remove(filepath.Dir(SocketPath(long))) // unless somebody else uses it
	path, err := PrepareSocket(long)
	if err != nil || len(path) > maxSocket || path != SocketPath(long) || path == SocketPath(long+"y") {
		t.Fatal(path, err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may look into the folder: %v %v", info.Mode(), err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := PrepareSocket(filepath.Join(file, "state")); err == nil {
		t.Error("a socket below a file")
	}
}
