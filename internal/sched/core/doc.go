// Package core is the vocabulary of Godwit: jobs and their components,
// allocations with epochs, the states of a job and the legal ways between
// them, the events that are the truth, the commands that carry them out. It
// decides nothing, and it must not know of clocks, files, networks or
// policies.
package core
