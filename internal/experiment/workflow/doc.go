// Package workflow repeats the experiment of papers/003, section 3.3, in the
// simulator: the refinement of EMAN, a linear workflow with one large parameter
// sweep, on the nodes of two clusters, which do nothing else, have other work, or are
// slower than their model says. It compares what we do with random placement, with
// the static plan of the paper, and with a bound that nothing can beat. It decides
// what is compared and which statements are checked; how workflows are run is the
// business of conduct and flowsim.
package workflow
