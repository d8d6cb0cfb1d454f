//as internal/predict

package predict

import (
	_ "github.com/godwit-hpc/godwit/internal/contract"
	_ "github.com/godwit-hpc/godwit/internal/core"
	_ "github.com/godwit-hpc/godwit/internal/engine" // want `not who asks`
	_ "github.com/godwit-hpc/godwit/internal/world"
)
