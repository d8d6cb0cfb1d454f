//as internal/sched/predict

package predict

import (
	_ "github.com/godwit-hpc/godwit/internal/sched/core"
	_ "github.com/godwit-hpc/godwit/internal/sched/place" // want `not who asks`
	_ "github.com/godwit-hpc/godwit/internal/sched/world"
)
