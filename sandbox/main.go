// Binary godwit-sandbox is gVisor's runsc with one command more, supervise: it
// runs one program in a sandbox, as the child of whoever started it, and takes
// orders from there. Everything it knows of the program stands in an OCI bundle
// that its parent wrote; it must not know of jobs, clusters or images.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gvisor.dev/gvisor/runsc/cli/maincli"
	"gvisor.dev/gvisor/runsc/version"
)

// The mark is the variable by which every process of an attempt is found
// again. gVisor clears the environment of the process that holds the program,
// so the mark reaches it through this file in the folder of the sandbox.
const (
	markVariable = "GODWIT_ATTEMPT"
	markFile     = "mark"
)

func main() {
	// Linked in, and set, by its name.
	_ = version.Version()
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "supervise":
			superviseProgram(os.Args[2:])
			return
		case "probe":
			probe()
			return
		case "probe-gpus":
			probeGPUs()
			return
		}
	}
	if slices.Contains(os.Args, "boot") {
		restoreMark()
	}
	maincli.Main()
}

// restoreMark puts the mark back into the environment. gVisor executes itself
// once more before it runs anything, and from then on all can see it.
func restoreMark() {
	for _, arg := range os.Args {
		root, ok := strings.CutPrefix(arg, "--root=")
		if !ok {
			continue
		}
		if mark, err := os.ReadFile(filepath.Join(root, markFile)); err == nil {
			_ = os.Setenv(markVariable, string(mark))
		}
	}
}

// ownLog is where this process says what went wrong with itself.
var ownLog = os.Stderr

// exitWithError ends the process with one line for its log.
func exitWithError(doing string, err error) {
	_, _ = fmt.Fprintf(ownLog, "%s: %v\n", doing, err)
	os.Exit(1)
}
