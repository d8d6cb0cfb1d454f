//as internal/live/broker/transfer

package transfer

import (
	_ "github.com/godwit-hpc/godwit/internal/live/broker" // want `know no loop`
	_ "github.com/godwit-hpc/godwit/internal/live/broker/replica"
)
