//as internal/sim

package sim

import (
	_ "github.com/godwit-hpc/godwit/internal/live/broker" // want `internal/sim imports internal/live/broker: simulator and broker`
	_ "github.com/godwit-hpc/godwit/internal/sched/engine"
	_ "github.com/godwit-hpc/godwit/internal/format/platform"
	_ "github.com/godwit-hpc/godwit/internal/replay" // want `internal/sim imports internal/live/broker through internal/replay`
	_ "github.com/godwit-hpc/godwit/internal/format/swf"
)
