// Package conduct decides, while a workflow runs, which of its tasks starts where
// and when. It is a state machine: Step takes in what has happened (a task began,
// ended, failed, was lost; a host is slower now, or gone) and gives back what is to
// be done. The simulator and the live run both drive it, so that what is simulated
// is what is done. It must not know what a task is, how it is started, or the time
// of day.
//
// # How it decides
//
// There is always a plan, made by package flow. Every core takes the tasks that the
// plan gives it, in the plan's order, each as soon as its parents are done; what it
// needs from elsewhere is sent for shortly before the core is free. Nothing is bound
// to a core before that. So when reality departs from the plan (a task took longer
// than its model says, a host is loaded, fails, comes back), everything that has not
// started is planned again, by all heuristics, from how things are.
//
// # What it learns
//
// What a finished task took, beside what its model says, corrects the model of all
// tasks of its kind, for each class of hosts by itself: the first instances of a
// parameter sweep tell how long the others will take. The load of a host is not
// mistaken for a wrong model: a task that had half of a processor is judged by the
// time that it had.
package conduct
