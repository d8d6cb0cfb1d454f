// Command godwit is the adaptive broker for HPC jobs: command line, broker,
// wrapper and agent are its subcommands. What they do stands in internal/cli.
package main

import (
	"os"

	"github.com/godwit-hpc/godwit/internal/cli"
)

// version is set when the binary is built.
var version = "unknown"

func main() {
	os.Exit(cli.RunCommand(version, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
