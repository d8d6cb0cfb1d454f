//as internal/sched/core

package core

import (
	_ "fmt"
	_ "github.com/godwit-hpc/godwit/internal/format/badinput" // want `imports nothing outside sched`
	_ "github.com/godwit-hpc/godwit/internal/sched/world"     // want `internal/sched/core imports internal/sched/world: core is the vocabulary`
)
