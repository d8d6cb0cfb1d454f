// Package yield has the library that lets waiting ranks of MPI programs sleep, as
// `make` built it. It must not know who uses it.
package yield

import "embed"

// What is built lies in a folder of its own, so that there is something to embed
// also where there is no C compiler.
//
//go:embed built
var built embed.FS

// LibraryBytes is the library, see ../yield.c; nil if it was not built.
func LibraryBytes() []byte {
	data, err := built.ReadFile("built/yield.so")
	if err != nil {
		return nil
	}
	return data
}
