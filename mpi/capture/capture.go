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

// Library is the library, see ../capture.c; nil if it was not built.
func Library() []byte { return read("built/capture.so") }

// Runner is the program, see ../skeleton.c; nil if it was not built.
func Runner() []byte { return read("built/skeleton") }

func read(name string) []byte {
	data, err := built.ReadFile(name)
	if err != nil {
		return nil
	}
	return data
}
