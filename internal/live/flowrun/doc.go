// Package flowrun carries out a workflow on the live broker: every task is an
// ordinary job, submitted when its parents are done and package conduct says so, to
// the cluster that it says. It tells the conductor what becomes of the jobs and how
// the clusters are, and decides nothing itself.
//
// # Nothing is lost
//
// All that must not be forgotten is in the broker's store: a task's job has a key
// made of the run, the task and the number of the try, and a key is taken once. So
// whoever goes on with a run, after this process, the broker or both were killed,
// asks for the keys and finds which tasks are done, which run, and which were never
// submitted. No task runs again after it went well, unless its files are gone.
package flowrun
