//as internal/sched/resched

package resched

import (
	_ "github.com/godwit-hpc/godwit/internal/sched/core"
	_ "github.com/godwit-hpc/godwit/internal/sched/engine"   // want `internal/sched/resched imports internal/sched/engine: a policy decides`
	_ "github.com/godwit-hpc/godwit/internal/format/platform" // want `a policy decides`
	_ "github.com/godwit-hpc/godwit/internal/sched"
	_ "github.com/godwit-hpc/godwit/internal/sched/predict"
	_ "github.com/godwit-hpc/godwit/internal/sim" // want `a policy decides`
	_ "github.com/godwit-hpc/godwit/internal/sched/world"
)
