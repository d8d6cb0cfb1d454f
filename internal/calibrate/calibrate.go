// Package calibrate measures how fast a CPU is, relative to the reference host
// to which estimates of CPU time refer. It must not know clusters or jobs.
package calibrate

import (
	"context"
	"errors"
)

// Speed is how fast the CPU is: 2 means that a program needs half the CPU time
// that it needs on the reference host. It takes at most 0.3 s of CPU time; with
// a cache file the answer for this model of CPU is kept there. cpu < 0: any.
func Speed(ctx context.Context, cpu int, cache string) (float64, error) {
	return 0, errors.ErrUnsupported
}
