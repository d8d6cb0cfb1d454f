//as internal/report/plot

package plot

import (
	_ "github.com/godwit-hpc/godwit/internal/sched/core" // want `knows nobody`
	_ "gonum.org/v1/plot"
)
