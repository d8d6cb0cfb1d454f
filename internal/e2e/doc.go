// Package e2e has the tests that use everything at once, as a user would: a lab
// with real batch systems, one broker over all of them, the command line. It
// has no code of its own.
package e2e
