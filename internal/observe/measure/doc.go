// Package measure runs a program at several sizes and counts what it does:
// instructions, misses of caches, CPU time, page faults. It decides how to count
// on this machine, and how often. It must not know what the counts are used for.
//
// Instructions come from the processor's counters where the kernel gives them
// (perf.go), else from valgrind (valgrind.go). Where neither can be had CPU time
// stands for both.
//
// Memory is counted by simulating caches of many capacities under cachegrind: for
// caches that forget what was used least recently the misses as a function of the
// capacity are the histogram of reuse distances, summed up. A trace of all
// addresses (valgrind's lackey) would give the same histogram in one run, but that
// run takes a hundred times as long as one with simulated caches: it writes some
// two million accesses a second, cachegrind simulates two hundred million.
package measure
