//as internal/live/daemon

package daemon

import (
	_ "github.com/godwit-hpc/godwit/internal/archtest" // want `driven by those above`
	_ "github.com/godwit-hpc/godwit/internal/live/broker"
)
