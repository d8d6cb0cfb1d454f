//as internal/plot

package plot

import (
	_ "github.com/godwit-hpc/godwit/internal/core" // want `knows nobody`
	_ "gonum.org/v1/plot"
)
