package server

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// exportTimeout is how long who exports the log may take for the next piece of it: meanwhile the
// store keeps what it would have dropped.
const exportTimeout = time.Minute

// exportLog streams the log of the broker.
func (s *server) exportLog(w http.ResponseWriter, r *http.Request) {
	since := int64(0)
	if text := r.FormValue("since"); text != "" {
		var err error
		if since, err = strconv.ParseInt(text, 10, 64); err != nil || since < 0 {
			refuseRequest(w, &badinput.Error{Field: "since", Value: text, Want: "nanoseconds since 1970"})
			return
		}
	}
	control, begun := http.NewResponseController(w), false
	out := bufio.NewWriterSize(w, 1<<16)
	lines := json.NewEncoder(out)
	err := s.Broker.ExportLog(r.Context(), s.Version, core.Time(since), func(line any) error {
		if !begun || out.Available() < 1<<12 {
			_ = control.SetWriteDeadline(clock.RealClock()().Add(exportTimeout)) // where there is no deadline nobody waits
		}
		begun = true
		return lines.Encode(line)
	})
	if err == nil {
		err = out.Flush()
	}
	_ = control.SetWriteDeadline(time.Time{})
	finishStream(w, err, begun)
}
