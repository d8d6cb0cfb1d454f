//as internal/report/progress

package progress

import (
	_ "github.com/godwit-hpc/godwit/internal/clock"
	_ "github.com/godwit-hpc/godwit/internal/sim" // want `knows nobody`
)
