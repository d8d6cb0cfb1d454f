//as internal/driver/slurm

package slurm

import (
	_ "github.com/godwit-hpc/godwit/internal/broker" // want `its own port`
	_ "github.com/godwit-hpc/godwit/internal/clock"
	_ "github.com/godwit-hpc/godwit/internal/core"
	_ "github.com/godwit-hpc/godwit/internal/driver"
	_ "github.com/godwit-hpc/godwit/internal/store" // want `its own port`
)
