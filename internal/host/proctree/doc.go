// Package proctree owns the processes of an attempt: it starts a program, knows
// every process that came from it (also those that made themselves daemons),
// says what they have used, stops them, and ends them all. It reads /proc and
// cgroups and needs a process that is a child subreaper. It must not know what
// the program is for, how it is saved, or who asks.
package proctree

// Variable is the name of the environment variable that marks every process
// of an attempt.
const Variable = "GODWIT_ATTEMPT"
