// Package runlog keeps the log of a run as JSON lines and replays it. The
// first line says what the engine was started with, every further line is one
// Step (the time, the input, the events that came of it), the last line says
// that the log is whole.
//
// Replaying a log proves two things. The events alone rebuild the state, so
// the results that come out are those of the run. And a fresh engine, told
// the same inputs, decides the same: the first event that differs is an
// error. A log that is damaged, or that says what cannot have happened, is
// refused with the line that is wrong.
//
// It decides the format and nothing else. It must not know where inputs come
// from: the log of a live broker and of a simulation are the same.
package runlog
