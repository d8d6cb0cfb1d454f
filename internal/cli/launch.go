package cli

import (
	"encoding/hex"

	"github.com/godwit-hpc/godwit/internal/agent"
)

// launched runs the commands with which a parallel program comes to the other hosts
// of its attempt, for nobody to type: launch HOST WORDS… where mpirun is, and limb
// MARK HOW LINE, all but the second in hexadecimal digits, on that host.
func launched(args []string) (code int, ours bool) {
	switch {
	case len(args) > 0 && args[0] == "launch":
		return agent.Launch(args[1:]), true
	case len(args) == 4 && args[0] == "limb":
		mark, err1 := hex.DecodeString(args[1])
		line, err2 := hex.DecodeString(args[3])
		if err1 != nil || err2 != nil {
			return exitBadInput, true
		}
		return agent.Limb(string(mark), args[2] == "yield", string(line)), true
	}
	return 0, false
}
