//as internal/engine

package engine

import (
	_ "github.com/godwit-hpc/godwit/internal/clock" // want `the engine is pure`
	_ "github.com/godwit-hpc/godwit/internal/core"
	_ "github.com/godwit-hpc/godwit/internal/nodesel"
	_ "github.com/godwit-hpc/godwit/internal/policy/place"
	_ "github.com/godwit-hpc/godwit/internal/store" // want `the engine is pure`
	_ "github.com/godwit-hpc/godwit/internal/world"
)
