package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/godwit-hpc/godwit/internal/cli/connect"
	"github.com/godwit-hpc/godwit/internal/cli/connect/connecttest"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// A broker that dies after it has taken a job and before it has answered: nobody
// knows whether it did.
func TestASubmissionWithoutAnAnswerIsMadeAgainWithTheSameKey(t *testing.T) {
	var mu sync.Mutex
	var keys []string
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/ping", func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = w.Write([]byte(`{"version": "v0"}`))
	})
	mux.HandleFunc("/v1/jobs", func(w http.ResponseWriter, r *http.Request) {
		var s api.Submit
		if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if keys = append(keys, s.Job.Key); len(keys) == 1 {
			panic(http.ErrAbortHandler) // cuts the connection
		}
		_, _ = w.Write([]byte(`{"ids": [7]}`))
	})
	connecttest.ListenAsBroker(t, mux)
	var out, errs bytes.Buffer
	args := []string{"run", "--detach", "--workdir", "none", "-n", "--", "true"}
	if code := RunCommand("v0", args, strings.NewReader(""), &out, &errs); code != term.ExitDone || out.String() != "7\n" {
		t.Errorf("exit code %d, printed %q: %s", code, out.String(), errs.String())
	}
	if len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] {
		t.Errorf("submitted with the keys %q", keys)
	}
	if code := RunCommand("v0", args, strings.NewReader(""), &out, &errs); code != term.ExitDone {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	if len(keys) != 3 || keys[2] == keys[0] {
		t.Errorf("another job has the key of the first: %q", keys)
	}
}

// A broker that is killed when it is asked for what is to be followed is asked again once it is back.
func TestWhoFollowsAsksAgainWhereABrokerWentAway(t *testing.T) {
	asked := map[string]int{}
	var mu sync.Mutex
	answer := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if asked[r.URL.Path]++; asked[r.URL.Path] == 1 {
				panic(http.ErrAbortHandler) // cuts the connection
			}
			_, _ = w.Write([]byte(text))
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/ping", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"version": "v0"}`)) })
	mux.HandleFunc("/v1/flows/1", answer(`{"id": 1, "name": "f", "state": "completed"}`))
	mux.HandleFunc("/v1/flows/1/watch", answer(`{"flow": {"id": 1, "name": "f", "state": "completed"}, "final": true}`))
	mux.HandleFunc("/v1/flows/1/tasks", answer(`[]`))
	connecttest.ListenAsBroker(t, mux)
	var out, errs bytes.Buffer
	if code := RunCommand("v0", []string{"flow", "attach", "1"}, strings.NewReader(""), &out, &errs); code != term.ExitDone {
		t.Errorf("exit code %d, printed %q: %s\n%v", code, out.String(), errs.String(), asked)
	}
}

func TestEveryVerbGivesUpABrokerThatDoesNotAnswer(t *testing.T) {
	silent := make(chan struct{})
	t.Cleanup(func() { close(silent) }) // before the server is closed
	connecttest.ListenAsBroker(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-silent:
		case <-r.Context().Done():
		}
	}))
	t.Setenv(connect.SilenceSetting, "600ms")
	for _, verb := range []string{"ps", "show 1", "cancel 1", "wait 1", "logs 1", "explain 1", "clusters", "hosts",
		"history",
		"migrate 1", "checkpoint 1", "depot usage", "reload", "run -n --workdir none -- true"} {
		var out, errs bytes.Buffer
		code := RunCommand("v0", strings.Fields(verb), strings.NewReader(""), &out, &errs)
		if code != term.ExitFailed || !strings.Contains(errs.String(), "has not answered for") ||
			!strings.Contains(errs.String(), "(pid ") {
			t.Errorf("godwit %s: exit code %d: %s", verb, code, errs.String())
		}
	}
	t.Setenv(connect.SilenceSetting, "soon")
	var out, errs bytes.Buffer
	if code := RunCommand("v0", []string{"ps"}, strings.NewReader(""), &out, &errs); code != term.ExitBadInput ||
		!strings.Contains(errs.String(), connect.SilenceSetting) {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}
