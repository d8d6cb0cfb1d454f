//as internal/platform

package platform

import (
	_ "github.com/godwit-hpc/godwit/internal/badinput"
	_ "github.com/godwit-hpc/godwit/internal/core"
	_ "github.com/godwit-hpc/godwit/internal/engine" // want `describes what stands there`
	_ "github.com/godwit-hpc/godwit/internal/replay" // want `through internal/replay`
	_ "github.com/godwit-hpc/godwit/internal/sim"    // want `describes`
)
