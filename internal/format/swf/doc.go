// Package swf reads and writes traces in the Standard Workload Format
// (version 2.2 of the Parallel Workloads Archive): one line a job with 18
// numbers, -1 where something is not known, and comment lines that begin with
// a semicolon and describe the machine.
//
// It decides what a well-formed record is, and says of everything else which
// line and which field is wrong. It does not decide what happens to a job: a
// record that is well formed but tells too little to be run again (no
// processors, no run time) is handed on, and Record.IsUsable says why it cannot
// be used. It must not know of queues, clusters or policies.
//
// What real traces contain and what is therefore not an error: records out of
// the order of submission, run times of 0, no estimate, no processors for a
// job that was cancelled, run times beyond the estimate, fractions of a
// second, blank lines, Windows line ends, several records of one job when all
// but one of them are parts (status 2, 3, 4).
package swf
