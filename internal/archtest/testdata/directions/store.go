//as internal/store/sqlite

package sqlite

import (
	_ "github.com/godwit-hpc/godwit/internal/core"
	_ "github.com/godwit-hpc/godwit/internal/engine" // want `its own port`
	_ "github.com/godwit-hpc/godwit/internal/store"
)
