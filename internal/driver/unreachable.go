package driver

import (
	"context"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// Unreachable stands for a cluster that cannot be asked at all, not even where it
// is: nothing is known to run there, and nothing can be started.
type Unreachable struct{ Why error }

func (u Unreachable) away() error { return fmt.Errorf("%w: %w", ErrAway, u.Why) }

// Start says that the cluster is out of reach.
func (u Unreachable) Start(context.Context, *wire.Attempt) error { return u.away() }

// Release says that nobody knows whether the attempt still runs.
func (u Unreachable) Release(context.Context, ID) error { return u.away() }

// Find says that nobody knows what runs there.
func (u Unreachable) Find(context.Context) ([]Found, error) { return nil, u.away() }

// Load says that the cluster is out of reach.
func (u Unreachable) Load(context.Context) (Load, error) { return Load{}, u.away() }
