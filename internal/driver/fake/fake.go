// Package fake is a driver without processes, for tests of whoever uses one: a
// test says what each attempt does, message by message, and sees the orders
// that are given. It must not know brokers, sockets or folders.
package fake

import (
	"context"
	"errors"

	"github.com/godwit-hpc/godwit/internal/agent/wire"
	"github.com/godwit-hpc/godwit/internal/driver"
)

// Script is what an attempt does. It runs in a goroutine of its own from Start
// on and is over when it returns; without having said Ended, Left or Lost it
// counts as died, and the next agent says Lost.
type Script func(r *Run)

// Run is an attempt that runs, as its script sees it.
type Run struct{}

// Attempt is what was started.
func (r *Run) Attempt() *wire.Attempt { return nil }

// Say sends a message to the broker; job, epoch, mark and, where the kind has
// one, the number are filled in.
func (r *Run) Say(m wire.Message) {}

// Orders are what the broker tells the attempt, except Ack.
func (r *Run) Orders() <-chan wire.Order { return nil }

// Done is closed when the attempt is ended from outside: by Kill or Release.
func (r *Run) Done() <-chan struct{} { return nil }

// Driver runs scripts.
type Driver struct{}

var _ driver.Driver = (*Driver)(nil)

// New makes a driver whose attempts do what script says and tell it to. It
// calls to from one goroutine per attempt, in the order of what is said.
func New(script Script, to func(wire.Message)) *Driver { return &Driver{} }

// Order hands an order to the agent of an attempt; false if there is none.
func (d *Driver) Order(id driver.ID, o wire.Order) bool { return false }

// Die ends the agent of an attempt as kill -9 would.
func (d *Driver) Die(id driver.ID) {}

// SetLoad sets what Load answers.
func (d *Driver) SetLoad(l driver.Load) {}

// Close ends everything and waits for the scripts.
func (d *Driver) Close() {}

func (d *Driver) Start(ctx context.Context, a *wire.Attempt) error { return errors.ErrUnsupported }
func (d *Driver) Release(ctx context.Context, id driver.ID) error  { return errors.ErrUnsupported }
func (d *Driver) Find(ctx context.Context) ([]driver.Found, error) { return nil, errors.ErrUnsupported }
func (d *Driver) Load(ctx context.Context) (driver.Load, error) {
	return driver.Load{}, errors.ErrUnsupported
}
