//as internal/host/checkpoint/signal

package signal

import (
	_ "github.com/godwit-hpc/godwit/internal/agent" // want `its own port`
	_ "github.com/godwit-hpc/godwit/internal/host/checkpoint"
)
