//as internal/core

package core

import (
	_ "fmt"
	_ "github.com/godwit-hpc/godwit/internal/badinput" // want `vocabulary`
	_ "github.com/godwit-hpc/godwit/internal/world"    // want `internal/core imports internal/world: core is the vocabulary`
)
