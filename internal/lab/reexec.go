package lab

import (
	"fmt"
	"os"
)

// The parts that processes of ours play; the first argument names them.
const (
	roleInit  = "lab-init"  // process 1 of a host, or of the switch
	roleEnter = "lab-enter" // goes into a host …
	roleExec  = "lab-exec"  // … and becomes the program there
	roleRelay = "lab-relay" // delays what goes between two interfaces
)

// self is this binary, from wherever it is called.
const self = "/proc/self/exe"

// RunRole does what this process was started for by the lab, if it was.
func RunRole(args []string) (code int, ours bool) {
	if len(args) == 0 {
		return 0, false
	}
	var err error
	switch args[0] {
	case roleInit:
		err = initMain()
	case roleEnter:
		code, err = enterMain(args[1:])
	case roleExec:
		code, err = 127, execMain(args[1:])
	case roleRelay:
		err = relayMain()
	default:
		return 0, false
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "godwit %s: %v\n", args[0], err)
		code = max(code, 1)
	}
	return code, true
}
