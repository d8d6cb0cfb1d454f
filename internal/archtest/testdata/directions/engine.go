//as internal/sched/engine

package engine

import (
	_ "github.com/godwit-hpc/godwit/internal/clock" // want `the engine is pure`
	_ "github.com/godwit-hpc/godwit/internal/sched/core"
	_ "github.com/godwit-hpc/godwit/internal/sched/nodesel"
	_ "github.com/godwit-hpc/godwit/internal/sched/place"
	_ "github.com/godwit-hpc/godwit/internal/live/store" // want `the engine is pure`
	_ "github.com/godwit-hpc/godwit/internal/sched/world"
)
