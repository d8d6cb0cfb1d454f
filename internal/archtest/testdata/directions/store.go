//as internal/live/store/sqlite

package sqlite

import (
	_ "github.com/godwit-hpc/godwit/internal/live/broker" // want `its own port`
	_ "github.com/godwit-hpc/godwit/internal/live/store"
	_ "github.com/godwit-hpc/godwit/internal/sched/core"
)
