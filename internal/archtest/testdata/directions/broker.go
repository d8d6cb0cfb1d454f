//as internal/broker

package broker

import (
	_ "github.com/godwit-hpc/godwit/internal/api" // want `driven by`
	_ "github.com/godwit-hpc/godwit/internal/clock"
	_ "github.com/godwit-hpc/godwit/internal/engine"
	_ "github.com/godwit-hpc/godwit/internal/sim" // want `at Step`
	_ "github.com/godwit-hpc/godwit/internal/store"
)
