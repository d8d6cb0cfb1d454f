// Package watch follows how a program does: from samples of what its processes use it
// predicts how long the program still takes and how likely it meets its deadline, and says
// when the deadline is in danger. It must not know when samples are due, what the broker is
// told, nor how the program is started or saved.
package watch
