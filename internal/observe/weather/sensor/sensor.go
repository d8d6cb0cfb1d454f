// Package sensor measures: what the machine it is on has to offer, and how fast
// messages get from here to a sensor on another machine and back. Latency is
// half the best of several round trips of a small message; throughput is that of
// a stream once it has got up to speed, so that neither latency nor the way there
// counts. A sensor listens only when it is asked to, for one other that shows a
// token, over TLS, and not for long. It decides how something is measured; it
// must not know what is measured when, nor what for.
package sensor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
)

const (
	// toCome is how long a sensor listens for the other.
	toCome = 20 * time.Second
	// toProbe is how long a probe may take, once the other has come.
	toProbe = 15 * time.Second
	// toResolve is how long it may take to find out what a name stands for.
	toResolve = 2 * time.Second
	// mostListening is how many others may be awaited at once.
	mostListening = 8
)

// Sensor is a sensor on this machine. It may be used by several goroutines.
type Sensor struct {
	load  func(context.Context) (driver.Load, error)
	clock clock.Clock

	mu    sync.Mutex
	gates map[*rendezvous.Listener]context.CancelFunc
	done  bool
	tasks sync.WaitGroup
}

var _ driver.Sensor = (*Sensor)(nil)

// New makes a sensor. load says how busy the machine is; nil: that is not asked.
func New(load func(context.Context) (driver.Load, error), c clock.Clock) *Sensor {
	return &Sensor{load: load, clock: c, gates: map[*rendezvous.Listener]context.CancelFunc{}}
}

// MeasureHosts does what is asked for.
func (s *Sensor) MeasureHosts(ctx context.Context, q driver.Sensing) (driver.Sensed, error) {
	switch {
	case q.Listen != nil:
		r, err := s.listenFor(ctx, q.Listen.Name)
		return driver.Sensed{Listens: r}, err
	case q.Probe != nil:
		w, err := s.probeSensor(ctx, q.Probe)
		return driver.Sensed{Way: w}, err
	}
	if s.load == nil {
		return driver.Sensed{}, errors.ErrUnsupported
	}
	load, err := s.load(ctx)
	return driver.Sensed{Machine: &driver.Machine{Load: load, Memory: freeMemory()}}, err
}

// listenFor lets one other in.
func (s *Sensor) listenFor(ctx context.Context, name string) (*rendezvous.Rendezvous, error) {
	host := addressOf(ctx, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done || len(s.gates) >= mostListening {
		return nil, fmt.Errorf("%d others are awaited already", len(s.gates))
	}
	wait, came := context.WithTimeout(context.Background(), toCome)
	g, err := rendezvous.OpenListener(ctx, rendezvous.Options{Host: host, Clock: s.clock, Handle: func(c net.Conn) {
		if wait.Err() == nil {
			came()
			_ = c.SetDeadline(s.clock().Add(toProbe))
			_ = serveConnection(c, s.clock) // the other has the error too
		}
		_ = c.Close()
	}})
	if err != nil {
		came()
		return nil, err
	}
	s.gates[g] = came
	s.tasks.Go(func() {
		<-wait.Done()
		_ = g.Close() // waits for the one that came
		s.mu.Lock()
		delete(s.gates, g)
		s.mu.Unlock()
	})
	r := g.Rendezvous()
	return &r, nil
}

// Close ends listening. A probe that is under way is waited for.
func (s *Sensor) Close() error {
	s.mu.Lock()
	s.done = true
	for _, cancel := range s.gates {
		cancel()
	}
	s.mu.Unlock()
	s.tasks.Wait()
	return nil
}

// addressOf is the address of this machine that a name stands for; "", which is
// all of them, if it stands for none, or for one that leads nowhere but here.
func addressOf(ctx context.Context, name string) string {
	if name == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, toResolve)
	defer cancel()
	named, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil {
		return ""
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, n := range named {
		ip := net.ParseIP(n)
		for _, o := range own {
			if o, ok := o.(*net.IPNet); ok && ip != nil && !ip.IsLoopback() && o.IP.Equal(ip) {
				return n
			}
		}
	}
	return ""
}
