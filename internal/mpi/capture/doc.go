// Package capture turns what the ranks of an MPI program wrote down while they ran
// (mpi/capture.c) into a pattern file: who sends how much to whom, which collective
// operations there were, and each rank's calls with their loops. Of other programs it
// is what their processes were seen to say over TCP. It decides what a valid record and
// a valid pattern file are, and how much of a collective operation goes between two
// ranks. It must not know what a pattern is used for.
package capture
