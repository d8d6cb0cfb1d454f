//as internal/sched/world

package world

import (
	_ "github.com/godwit-hpc/godwit/internal/sched/core"
	_ "github.com/godwit-hpc/godwit/internal/sched/predict" // want `a view of the core`
)
