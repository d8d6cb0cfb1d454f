package driver

import (
	"context"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Reserver is a driver whose cluster may hold processors for an attempt before
// it is started. An answer that wraps errors.ErrUnsupported says that clusters of
// that kind do not; one that wraps ErrRefused that this one does not for us, and
// why.
type Reserver interface {
	// ReserveProcs has them held for the attempt, whose StartAttempt then uses them. It may be
	// called again: one reservation is made. Release gives them back.
	ReserveProcs(ctx context.Context, r Reservation) error
	// CancelReservation gives them back. What is not held is no error.
	CancelReservation(ctx context.Context, id ID) error
}

// Reservation is what is held for an attempt, and when: Need.Time long.
type Reservation struct {
	ID
	From time.Time // zero: from now on
	Need
}

// Resizer is a driver whose cluster may take hosts away from an attempt that
// runs. An answer that wraps errors.ErrUnsupported says that clusters of that
// kind do not.
type Resizer interface {
	// ResizeAttempt leaves the attempt so many of its hosts, among them that of its agent.
	// What it has already is no error; more than it has is refused.
	ResizeAttempt(ctx context.Context, id ID, hosts int) error
}

// Extender is a driver of a cluster with a manager of its own that can be asked for processors for an attempt beside
// those that it was started with.
type Extender interface {
	// CanExtend says whether the cluster is one of those.
	CanExtend() bool
	// ExtendAttempt has the manager give the attempt so many processors in all, on the host of its agent, and returns how
	// many it has by now: the others it is asked for once, however often this is called. What is more than that is given
	// back, though never those that it was started with.
	ExtendAttempt(ctx context.Context, id ID, procs int) (has int, err error)
}

// Adjuster is a driver of a cluster that may have no other manager than the broker, so that an attempt that runs can
// be given other processors of it at any time.
type Adjuster interface {
	// CanAdjustProcs says whether the cluster is one of those, for an attempt that has these processors.
	CanAdjustProcs(held core.ProcSet) bool
	// AdjustProcs gives the attempt these processors instead of those that it has, and returns on which CPUs of the
	// host its program may run now; nil: on those that it could before.
	AdjustProcs(ctx context.Context, id ID, held core.ProcSet) (cpus []int, err error)
}
