//as internal/live/broker

package broker

import (
	_ "github.com/godwit-hpc/godwit/internal/protocol/api" // want `driven by`
	_ "github.com/godwit-hpc/godwit/internal/clock"
	_ "github.com/godwit-hpc/godwit/internal/sched/engine"
	_ "github.com/godwit-hpc/godwit/internal/sim" // want `at Step`
	_ "github.com/godwit-hpc/godwit/internal/live/store"
)
