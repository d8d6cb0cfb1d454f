//as internal/sim

package sim

import (
	_ "github.com/godwit-hpc/godwit/internal/format/swf"
	_ "github.com/godwit-hpc/godwit/internal/live/broker" // want `the simulator meets the core`
	_ "github.com/godwit-hpc/godwit/internal/sched/engine"
)
