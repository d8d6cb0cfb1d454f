// Package flow decides where and when the tasks of a workflow run so that the
// last one ends early. It holds the graph of tasks, a small picture of the
// grid, the heuristics (min-min, max-min and that of the task which suffers
// most, over the matrix of ranks; HEFT; lookahead variants), an improvement of
// the best plan in steps that the caller counts or stops, lower bounds, and a
// checker that trusts none of them. It must not know files, formats, platforms or the time of day.
//
// # The model
//
// It is the usual contention-free one. A host runs one task per core at a
// time; a task of w seconds of work takes w / speed. It starts when its parents
// have ended and their files have arrived: a file of b bytes from one host to
// another takes the latency of the route plus b times its seconds per byte,
// nothing within a host. The files of one parent come one after another, those of
// different parents side by side, and no transfer slows another one down. Files
// without a producer are everywhere. A host that
// has less memory or fewer cores than a task needs cannot run it.
// A task of several cores has them all at once, at one site. A plan may begin in the
// middle of a run (State), and what is known of how long kinds of tasks take on
// classes of hosts may differ from what their speed tells (Grid.CorrectSpeeds).
//
// # Cost
//
// Hosts of equal site, speed, cores and memory form a group, and nothing here
// is done per host where once per group is enough: the free times of a group's
// cores lie in one search tree, and data arrives at all hosts of a site at the
// same time, except at the one that holds what would arrive last. With n tasks,
// e edges, S sites and G groups, placing all tasks takes O(e·S + n·G·log n).
package flow
