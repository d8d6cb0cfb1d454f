//as internal/driver/slurm

package slurm

import (
	_ "github.com/godwit-hpc/godwit/internal/clock"
	_ "github.com/godwit-hpc/godwit/internal/depot" // want `affair of staging`
	_ "github.com/godwit-hpc/godwit/internal/driver"
	_ "github.com/godwit-hpc/godwit/internal/live/broker" // want `its own port`
	_ "github.com/godwit-hpc/godwit/internal/sched/core"
	_ "github.com/godwit-hpc/godwit/internal/sched/engine" // want `only the simulator and the broker`
)
