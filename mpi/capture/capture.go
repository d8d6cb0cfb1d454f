// Package capture has what goes into MPI programs and stands for them, as `make`
// built it for the MPI of this machine: the library that records what a program
// says to whom, and the program that runs skeletons. It must not know who uses it.
package capture

import "embed"

// What is built lies in a folder of its own, so that there is something to embed
// also where there is no MPI.
//
//go:embed built
var built embed.FS

// LibraryBytes is the library, see ../capture.c; nil if it was not built.
func LibraryBytes() []byte { return readBuilt("built/capture.so") }

// RunnerBytes is the program, see ../skeleton.c; nil if it was not built.
func RunnerBytes() []byte { return readBuilt("built/skeleton") }

func readBuilt(name string) []byte {
	data, err := built.ReadFile(name)
	if err != nil {
		return nil
	}
	return data
}
