//as internal/host/checkpoint/signal

package signal

import (
	_ "github.com/godwit-hpc/godwit/internal/agent" // want `one machine`
	_ "github.com/godwit-hpc/godwit/internal/host/proctree"
)
