//as internal/policy/resched

package resched

import (
	_ "github.com/godwit-hpc/godwit/internal/core"
	_ "github.com/godwit-hpc/godwit/internal/engine"   // want `internal/policy/resched imports internal/engine: a policy decides`
	_ "github.com/godwit-hpc/godwit/internal/platform" // want `a policy decides`
	_ "github.com/godwit-hpc/godwit/internal/policy"
	_ "github.com/godwit-hpc/godwit/internal/predict"
	_ "github.com/godwit-hpc/godwit/internal/sim" // want `a policy decides`
	_ "github.com/godwit-hpc/godwit/internal/world"
)
