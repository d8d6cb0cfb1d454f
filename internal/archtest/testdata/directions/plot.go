//as internal/report/plot

package plot

import (
	_ "github.com/godwit-hpc/godwit/internal/sched/core" // want `does not know what it shows`
	_ "gonum.org/v1/plot"
)
