//as internal/format/platform

package platform

import (
	_ "github.com/godwit-hpc/godwit/internal/format/badinput"
	_ "github.com/godwit-hpc/godwit/internal/sched/core"
	_ "github.com/godwit-hpc/godwit/internal/sched/engine" // want `only the simulator and the broker`
	_ "github.com/godwit-hpc/godwit/internal/sim"          // want `what people write`
)
