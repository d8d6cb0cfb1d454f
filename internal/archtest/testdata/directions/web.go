//as internal/web

package web

import (
	_ "github.com/godwit-hpc/godwit/cmd/godwit"        // want `nothing is built on a binary`
	_ "github.com/godwit-hpc/godwit/internal/archtest" // want `tests of the rules`
	_ "github.com/godwit-hpc/godwit/internal/live/broker"
	_ "github.com/godwit-hpc/godwit/internal/cli" // want `nothing stands on it but cmd`
)
