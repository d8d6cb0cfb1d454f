// Package buildcache has programs that come as sources built once for each kind of
// host (papers/003 section 2). It decides when two builds would give the same
// result, keeps results so that nobody ever finds half of one, and lets one of
// several that want the same build while the others wait. It must not know jobs,
// brokers or how the build command is run: who has the lock runs it.
//
// A result is known by everything that goes into it: the files of the sources, the
// command, the architecture and level of the processor, the versions of the
// compilers and of the libraries that are needed.
package buildcache
