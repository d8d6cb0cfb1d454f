package cli

import (
	"encoding/hex"

	"github.com/godwit-hpc/godwit/internal/agent/hosthelper"
	"github.com/godwit-hpc/godwit/internal/agent/parallel"
	"github.com/godwit-hpc/godwit/internal/cli/term"
)

// runLaunched runs the commands with which a parallel program comes to the other hosts
// of its attempt, for nobody to type: launch HOST WORDS… where mpirun is, and limb HOW
// LINE, the line in hexadecimal digits, on that host. Of a job whose parts are one program, lead-parts COMMAND is the
// program of the first, and serve-ranks SOCKET that of the others. host-helper
// INTERVAL says the agent what becomes of the attempt on another host.
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
	case len(args) == 2 && args[0] == hosthelper.Command:
		return hosthelper.RunHelper(args[1]), true
	case len(args) > 1 && args[0] == parallel.LeadCommand:
		return parallel.LeadParts(args[1:]), true
	case len(args) == 2 && args[0] == parallel.ServeCommand:
		return parallel.ServeRanks(args[1]), true
	}
	return 0, false
}
