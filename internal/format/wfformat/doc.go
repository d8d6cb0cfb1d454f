// Package wfformat reads workflows in WfFormat, the JSON of WfCommons, plain or
// compressed with gzip. It decides what such a file means as a graph of tasks:
// which task waits for which, for how many bytes, how long it runs and what it
// needs of a host; and what to tell a user whose file is wrong. It knows
// nothing of hosts or plans.
//
// # What is read
//
// Version 1.5 of the schema: workflow.specification has the tasks with their
// parents, children and files, and the sizes of the files;
// workflow.execution has what each task took when it was recorded. A child
// waits for the parents that either of the two tasks names, and for the task
// that makes a file it reads. runtimeInSeconds is taken as seconds on the
// reference host; memoryInBytes and coreCount are what a host must have.
// Everything else in the file is left alone.
package wfformat
