//as internal/sched/engine

package engine

import (
	_ "github.com/godwit-hpc/godwit/internal/clock" // want `imports nothing outside sched`
	_ "github.com/godwit-hpc/godwit/internal/sched/core"
	_ "github.com/godwit-hpc/godwit/internal/sched/nodesel"
	_ "github.com/godwit-hpc/godwit/internal/sched/place"
)
