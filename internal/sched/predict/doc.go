// Package predict says when a running program will end, as a distribution and
// not as a number (papers/004, section 4.8.3, and what it leaves as future
// work):
//
//	remaining CPU time  = T100 − CPU time used so far
//	remaining wall time = remaining CPU time / F
//
// T100, the CPU time of the whole job on a reference host, is known only
// roughly; F, the share of its processors that the job will get from now on,
// may change at any moment. Both go in with their uncertainty: T100 as a
// distribution that is conditioned on what has been used already (amount.go),
// F as the level since the last change point, with noise and with the chance
// that it changes again (series.go, noise.go, future.go). A program that
// reports steps, or whose bytes read and written are known from history, is
// judged by those where they predict better (watch.go, choose.go). What comes of it is
// stretched around its median by how the predictions of earlier runs held, which are
// judged when an attempt ends (band.go).
//
// It must not know who samples, what the time is, or what is decided from a
// prediction.
package predict
