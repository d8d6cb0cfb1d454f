package driver

import (
	"context"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// Unreachable stands for a cluster that cannot be asked at all, not even where it
// is: nothing is known to run there, and nothing can be started.
type Unreachable struct{ Why error }

func (u Unreachable) awayError() error { return fmt.Errorf("%w: %w", ErrAway, u.Why) }

// StartAttempt says that the cluster is out of reach.
func (u Unreachable) StartAttempt(context.Context, *wire.Attempt) error { return u.awayError() }

// ReleaseAttempt says that nobody knows whether the attempt still runs.
func (u Unreachable) ReleaseAttempt(context.Context, ID) error { return u.awayError() }

// FindAttempts says that nobody knows what runs there.
func (u Unreachable) FindAttempts(context.Context) ([]Found, error) { return nil, u.awayError() }

// MeasureLoad says that the cluster is out of reach.
func (u Unreachable) MeasureLoad(context.Context) (Load, error) { return Load{}, u.awayError() }
