// Package grads is the experiment of papers/000: an application of linear algebra runs on four
// fast nodes, other programs come onto them, and it is stopped and continued on eight slower
// nodes at another site, or not. It runs the sweeps and the opportunistic move of
// scenarios/grads in the simulator, each decision and its opposite, and writes the report. It
// must not know how a decision is made.
package grads
