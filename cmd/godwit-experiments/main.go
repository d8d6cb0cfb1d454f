// Command godwit-experiments runs the experiments of the papers with Godwit and writes
// their reports. It is no part of the product. What it does stands in internal/experiment.
package main

import (
	"os"

	"github.com/godwit-hpc/godwit/internal/experiment/command"
)

// version is set when the binary is built.
var version = "unknown"

func main() {
	os.Exit(command.RunCommand(version, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
