// Package jobarray decides how many elements of a job array are in the queue at a
// time. An array may have a hundred thousand of them: those that could not start for
// a long time are kept out of the queue, where each would cost time and memory, and
// come in their order as others start and end. It must not know how elements are
// kept meanwhile.
package jobarray

// QueueDepth is how many elements of one array wait in the queue at a time. It is far
// more than start within the time that the next ones take to come.
const QueueDepth = 1000

// Admit is how many more elements come into the queue now, of those that are ready to,
// when so many have not started.
func Admit(ready, queued int) int { return max(0, min(QueueDepth-queued, ready)) }
