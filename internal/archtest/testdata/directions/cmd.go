//as cmd/godwit

package godwit

import (
	_ "github.com/godwit-hpc/godwit/internal/cli"
	_ "github.com/godwit-hpc/godwit/internal/sim" // want `flags and wiring`
	_ "os"
)
