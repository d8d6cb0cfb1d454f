// Package perfmodel predicts what a program needs at a size at which it never
// ran, from what was counted at a few small sizes (papers/003 section 3.2). It
// decides which formula describes the counts, how far it may be trusted, and what
// the counts mean in seconds on a host whose rates were measured. It must not know
// how anything is counted or measured, nor what a prediction is used for.
//
// Three things are modelled against the size n:
//
//   - operations: a sum of few terms such as n² log n with factors that are not
//     negative, by least squares of the relative error (Curve). Several formulas
//     stay in play, weighted by how well each foretells sizes that it was not
//     fitted to; where they disagree the interval is wide;
//   - memory: how many accesses find their cache line gone from a cache of a given
//     size. That is the histogram of reuse distances, each of whose bins is a
//     number of accesses and a distance that grow with n (Memory);
//   - pace: how many of the host's nominal operations a second the program does,
//     and how much of what lines cost it waits for, from its CPU time at the
//     sizes that ran (Pace).
package perfmodel
