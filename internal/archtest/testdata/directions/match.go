//as internal/sched/nodesel/match

package match

import (
	_ "github.com/godwit-hpc/godwit/internal/sched/core"
	_ "github.com/godwit-hpc/godwit/internal/sched/nodesel" // want `does not depend on who chooses hosts`
)
