package cli

import (
	"encoding/hex"

	"github.com/godwit-hpc/godwit/internal/agent/parallel"
	"github.com/godwit-hpc/godwit/internal/cli/term"
)

// runLaunched runs the commands with which a parallel program comes to the other hosts
// of its attempt, for nobody to type: launch HOST WORDS… where mpirun is, and limb HOW
// LINE, the line in hexadecimal digits, on that host.
func runLaunched(args []string) (code int, ours bool) {
	switch {
	case len(args) > 0 && args[0] == "launch":
		return parallel.LaunchRemote(args[1:]), true
	case len(args) == 3 && args[0] == "limb":
		line, err := hex.DecodeString(args[2])
		if err != nil {
			return term.ExitBadInput, true
		}
		return parallel.RunRanks(args[1] == "yield", string(line)), true
	}
	return 0, false
}
