//as internal/sched/resched

package resched

import (
	_ "github.com/godwit-hpc/godwit/internal/format/platform" // want `imports nothing outside sched`
	_ "github.com/godwit-hpc/godwit/internal/sched/core"
	_ "github.com/godwit-hpc/godwit/internal/sched/engine" // want `a policy decides`
	_ "github.com/godwit-hpc/godwit/internal/sched/predict"
	_ "github.com/godwit-hpc/godwit/internal/sched/world"
)
