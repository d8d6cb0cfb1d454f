//as internal/experiment/adaptive

package adaptive

import (
	_ "github.com/godwit-hpc/godwit/internal/cli" // want `has its own commands`
	_ "github.com/godwit-hpc/godwit/internal/cli/term"
	_ "github.com/godwit-hpc/godwit/internal/live/broker"
)
