//as internal/live/broker

package broker

import (
	_ "github.com/godwit-hpc/godwit/internal/clock"
	_ "github.com/godwit-hpc/godwit/internal/live/server" // want `stand above it`
	_ "github.com/godwit-hpc/godwit/internal/live/store"
	_ "github.com/godwit-hpc/godwit/internal/sched/engine"
	_ "github.com/godwit-hpc/godwit/internal/sim" // want `meets the core at Step`
)
