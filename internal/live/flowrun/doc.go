// Package flowrun carries out one workflow on the live broker: every task is an
// ordinary job, submitted when its parents are done and package conduct says so, to
// the cluster that it says. It tells the conductor what becomes of the jobs and how
// the clusters are, and decides nothing itself. It must not know who keeps the records
// of workflows: package workflow does, and drives one run for each that is open.
//
// # Nothing is lost
//
// A task's job has a key made of the run, the task and the number of the try, and a key
// is taken once. So whoever goes on with a run, after the broker was killed at any
// moment, asks for the keys and finds which tasks are done, which run, which failed how
// often, and which were never submitted. What happened is told as events, of which
// records are made; they are for people, but for two things: tasks that had failed when
// their user wanted the run to go on, and that it was cancelled.
package flowrun
