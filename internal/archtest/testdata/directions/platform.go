//as internal/format/platform

package platform

import (
	_ "github.com/godwit-hpc/godwit/internal/format/badinput"
	_ "github.com/godwit-hpc/godwit/internal/sched/core"
	_ "github.com/godwit-hpc/godwit/internal/sched/engine" // want `describes what stands there`
	_ "github.com/godwit-hpc/godwit/internal/replay" // want `through internal/replay`
	_ "github.com/godwit-hpc/godwit/internal/sim"    // want `describes`
)
