//as internal/cli/net

package net

import (
	_ "github.com/godwit-hpc/godwit/internal/cli/connect"
	_ "github.com/godwit-hpc/godwit/internal/cli/sim" // want `no other family`
	_ "github.com/godwit-hpc/godwit/internal/cli/term"
)
