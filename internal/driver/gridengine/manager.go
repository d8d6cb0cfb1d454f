// Package gridengine speaks the dialect of Grid Engine (SGE, Son of Grid
// Engine, and what descends from them) to package batch: how jobs are submitted,
// listed, ended and looked up afterwards, and what a cell consists of. It must
// not know what the jobs are for.
//
// It does not ask for h_vmem: that bounds the address space, of which Go
// programs and the sandbox reserve far more than they use, so that they die of
// it. Sites that insist on it get it through the setting options.
package gridengine

import (
	"fmt"
	"log/slog"
	"maps"
	"os/user"
	"regexp"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

// Options describe how a cell is used.
type Options struct {
	Queue    string            // "": as the cell likes
	PE       string            // parallel environment for jobs of several processors; "": there is none
	Options  []string          // for qsub, as they are
	Env      map[string]string // for the commands, such as SGE_ROOT
	Commands string            // their folder; "": found
	Clock    clock.Clock       // nil: the machine's
	Log      *slog.Logger      // nil: nowhere
}

// Manager is one cell of Grid Engine.
type Manager struct {
	opt   Options
	cmd   commands
	user  string
	clock clock.Clock
	log   *slog.Logger

	mu      sync.Mutex
	version string
	rule    string               // how the parallel environment spreads slots over hosts; "": not known
	broken  map[string]string    // jobs that could not be started, and why
	asked   map[string]time.Time // when a job was first to be deleted
	waited  map[string]bool      // jobs that had not begun when they were seen last
	sought  map[string]time.Time // when it was first asked how a job ended of which nothing is written down
	flush   time.Duration        // after which that is written down; 0: not known
	reasons reasons
	silence silence
}

var _ batch.Manager = (*Manager)(nil)

// KindName is Grid Engine.
func (m *Manager) KindName() string { return jobfile.GridEngine }

// namePattern is what may stand for a queue or a parallel environment.
var namePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_@.*-]{1,200}$`)
})

// New makes one. It asks nothing yet.
func New(o Options) (*Manager, error) {
	for _, name := range []string{o.Queue, o.PE} {
		if name != "" && (!namePattern().MatchString(name) || name[0] == '-') {
			return nil, fmt.Errorf("%q is not the name of a queue or a parallel environment", name)
		}
	}
	me, err := user.Current()
	if err != nil {
		return nil, fmt.Errorf("who are we: %w", err)
	}
	m := &Manager{opt: o, cmd: commands{o.Commands, maps.Clone(o.Env)}, user: me.Username, clock: o.Clock,
		log: o.Log, broken: map[string]string{}, asked: map[string]time.Time{}, sought: map[string]time.Time{}}
	if m.clock == nil {
		m.clock = clock.RealClock()
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	return m, nil
}
