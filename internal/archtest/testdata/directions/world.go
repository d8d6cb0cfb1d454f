//as internal/world

package world

import (
	_ "github.com/godwit-hpc/godwit/internal/core"
	_ "github.com/godwit-hpc/godwit/internal/policy/place" // want `a view of the core`
)
