package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/cli/connect/connecttest"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

// On a full disk a job is over long before its results can be copied back.
func TestCtrlCEndsARunWhoseResultsCannotBeCopiedBack(t *testing.T) {
	const job = `{"id": 7, "name": "x", "state": "DONE", "exit_code": 0, "unreturned": "no space left on device; retrying"}`
	ctx, interrupt := context.WithCancel(t.Context())
	hang := func(w http.ResponseWriter, r *http.Request) { // until whoever follows the job goes away
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/ping",
		func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"version": "v0"}`)) })
	mux.HandleFunc("POST /v1/jobs",
		func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"ids": [7]}`)) })
	mux.HandleFunc("GET /v1/jobs/7/logs", hang)
	mux.HandleFunc("GET /v1/jobs/7/watch", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"job": %s}`+"\n", job)
		interrupt()
		hang(w, r)
	})
	mux.HandleFunc("POST /v1/jobs/7/cancel", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(job)) })
	connecttest.ListenAsBroker(t, mux)
	var out, errs bytes.Buffer
	a := newApp(&out, &errs)
	err := a.runJob(ctx, &runFlags{noStdin: true}, &jobfile.Job{Argv: []string{"true"}})
	if !errors.Is(err, term.ExitCode(term.ExitInterrupted)) ||
		!strings.Contains(errs.String(), "job 7 completed; results not copied back: no space left on device") {
		t.Errorf("%v: %s", err, errs.String())
	}
}
