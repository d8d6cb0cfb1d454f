package cli

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/cli/connect/connecttest"
	"github.com/godwit-hpc/godwit/internal/cli/term"
)

// serveOther answers as the broker of somebody else, with three clusters, and makes
// commands use it.
func serveOther(t *testing.T) {
	t.Helper()
	answer := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/ping", answer(`{"version": "v0", "pid": 42, "jobs": 3}`))
	mux.HandleFunc("/v1/clusters", answer(`[{"name": "north"}, {"name": "south"}, {"name": "east1"}]`))
	connecttest.ListenAsBroker(t, mux)
	t.Setenv("GODWIT_CONFIG", "")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
}

func TestUpStopSaysThatAnotherBrokerIsInUse(t *testing.T) {
	serveOther(t)
	var out, errs bytes.Buffer
	code := RunCommand("v0", []string{"up", "--stop"}, strings.NewReader(""), &out, &errs)
	if code != term.ExitFailed || !strings.Contains(errs.String(), "no broker of your own runs; the shared one does") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	t.Setenv("GODWIT_SOCKET", "/nowhere/at/all")
	errs.Reset()
	if code := RunCommand("v0", []string{"up", "--stop"}, strings.NewReader(""), &out, &errs); code != term.ExitDone ||
		errs.String() != "godwit: no broker runs\n" {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

func TestDoctorTellsOfTheBrokerThatCommandsUse(t *testing.T) {
	serveOther(t)
	a := newApp("v0", strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	state := os.Getenv("GODWIT_STATE")
	for want, f := range map[string]finding{
		"3 clusters of the broker that runs: north, south, east1": a.checkSettings(t.Context(), state),
		"none of your own; jobs go to the one at ":                a.checkBroker(t.Context(), state),
		"process 42 on ": a.checkShared(t.Context()),
	} {
		if !f.OK || !strings.Contains(f.Detail, want) {
			t.Errorf("%+v, want %q", f, want)
		}
	}
}
