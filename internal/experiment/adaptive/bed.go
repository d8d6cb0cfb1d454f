// Package adaptive is the experiment of papers/004: a program with a deadline, on
// one of two clusters, while others begin to compute there; with the adaptive
// service and without. The two clusters are two processors of this machine, the
// broker is the real one, the load is real. It must not know how the broker
// decides: it asks over the same socket as everybody else.
package adaptive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/godwit-hpc/godwit/internal/api"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/config"
	"github.com/godwit-hpc/godwit/internal/daemon"
	"github.com/godwit-hpc/godwit/internal/driver/local"
)

// Names of the two clusters. Jobs begin in the first.
const (
	Home = "home"
	Away = "away"
)

// Bed is a broker of its own with two clusters of one processor each.
type Bed struct {
	Dir    string
	Client *api.Client
	CPU    map[string]int // of each cluster
	clock  clock.Clock
	stop   context.CancelFunc
	ended  chan error
}

// ErrOneCPU says that the experiment cannot be done here.
var ErrOneCPU = errors.New("this machine lets us use one processor only; two clusters need two")

// NewBed starts a broker whose agents look every sample. agent is the command of
// an agent; nil: this program.
func NewBed(ctx context.Context, agent []string, sample time.Duration) (*Bed, error) {
	cpus, err := local.UsableCPUs()
	if err != nil {
		return nil, err
	}
	if len(cpus) < 2 {
		return nil, ErrOneCPU
	}
	dir, err := os.MkdirTemp("", "godwit-adaptive-")
	if err != nil {
		return nil, err
	}
	b := &Bed{Dir: dir, CPU: map[string]int{Home: cpus[0], Away: cpus[1]}, clock: clock.Real(), ended: make(chan error, 1)}
	settings := filepath.Join(dir, "config.yaml")
	text := fmt.Sprintf("clusters:\n  - {name: %s, cpus: [%d]}\n  - {name: %s, cpus: [%d]}\nsample: %s\n", Home, cpus[0], Away, cpus[1], sample)
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	own, stop := context.WithCancel(ctx)
	b.stop = stop
	ready := make(chan string, 1)
	go func() {
		b.ended <- daemon.Run(own, daemon.Options{State: filepath.Join(dir, "state"), Config: settings, Version: "experiment", Agent: agent,
			Log: slog.New(slog.DiscardHandler), Ready: func(socket string, _ *config.Config) { ready <- socket }})
	}()
	select {
	case socket := <-ready:
		b.Client = api.Dial(socket)
		return b, nil
	case err := <-b.ended:
		stop()
		return nil, errors.Join(fmt.Errorf("the broker of the experiment: %w", err), os.RemoveAll(dir))
	}
}

// Close ends the broker and removes its folder. Jobs must have ended.
func (b *Bed) Close() error {
	b.Client.Close()
	b.stop()
	return errors.Join(<-b.ended, os.RemoveAll(b.Dir))
}
