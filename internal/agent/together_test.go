package agent

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
)

func TestAProgramThatIsEndedTogetherWithItsAgentHasNotEnded(t *testing.T) {
	term := checkpoint.Result{Code: 143, Signal: int(unix.SIGTERM)}
	for name, c := range map[string]struct {
		result          checkpoint.Result
		before, besides bool // the agent was told to go
		want            bool
	}{
		"both":                         {result: term, besides: true, want: true},
		"a shell says so":              {result: checkpoint.Result{Code: 143}, besides: true, want: true},
		"the agent first":              {result: term, before: true, want: true},
		"it ended as it was told":      {result: checkpoint.Result{Code: 1}, before: true, want: true},
		"it ended well":                {result: checkpoint.Result{}, before: true},
		"the program alone":            {result: term},
		"the program, by another":      {result: checkpoint.Result{Code: 137, Signal: int(unix.SIGKILL)}, besides: true},
		"it failed, and then a signal": {result: checkpoint.Result{Code: 1}, besides: true},
	} {
		signals := make(chan os.Signal, 1)
		l := &life{around: testAround(signals)}
		if c.before {
			l.quit = time.NewTimer(time.Hour)
		}
		if c.besides {
			signals <- unix.SIGTERM
		}
		if got := l.endedByShutdown(c.result); got != c.want || got && l.quit == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}
