//as cmd/godwit

// Command godwit is documented as commands are.
package main
