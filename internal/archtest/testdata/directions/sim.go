//as internal/sim

package sim

import (
	_ "github.com/godwit-hpc/godwit/internal/broker" // want `internal/sim imports internal/broker: simulator and broker`
	_ "github.com/godwit-hpc/godwit/internal/engine"
	_ "github.com/godwit-hpc/godwit/internal/platform"
	_ "github.com/godwit-hpc/godwit/internal/replay" // want `internal/sim imports internal/broker through internal/replay`
	_ "github.com/godwit-hpc/godwit/internal/swf"
)
