//as internal/cli

package cli

import (
	_ "github.com/godwit-hpc/godwit/internal/cli/term"
	_ "github.com/godwit-hpc/godwit/internal/e2e"              // want `stands on everything`
	_ "github.com/godwit-hpc/godwit/internal/experiment/loads" // want `no part of the product`
	_ "github.com/godwit-hpc/godwit/internal/live/broker"
	_ "github.com/godwit-hpc/godwit/internal/sim"
)
