// Package agent is the wrapper beside a job: it brings the work folder, starts
// the program through a checkpoint method, owns its processes, keeps its output
// until the broker has it, watches it, predicts whether it will make its
// deadline, saves it, and tells the broker how it ended, exactly once. It lives
// in a process of its own and in one folder; broker, network and even an earlier
// agent on the same folder may die at any moment.
//
// One goroutine owns the state of an attempt (attempt.go). Others read pipes
// (package output), write to the broker, fetch, save (package save) and push, and tell
// it through channels. What is known of how the program does is package watch; how a
// program is spread over hosts, package parallel; programs that come as sources,
// package buildcache. What it decides by itself stands in pure functions, in
// sched/checkpointing: which checkpoint method, when the deadline is in danger, when
// to save.
//
// The package must not know how the broker decides, what other jobs there are,
// or how a checkpoint method works.
package agent
