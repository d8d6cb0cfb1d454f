//as internal/sched/predict

package predict

import (
	_ "github.com/godwit-hpc/godwit/internal/contract"
	_ "github.com/godwit-hpc/godwit/internal/sched/core"
	_ "github.com/godwit-hpc/godwit/internal/sched/engine" // want `not who asks`
	_ "github.com/godwit-hpc/godwit/internal/sched/world"
)
