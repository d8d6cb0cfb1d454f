// Package jobarray decides how many elements of a job array are in the queue at a
// time. An array may have a hundred thousand of them: those that could not start for
// a long time are kept out of the queue, where each would cost time and memory, and
// come in their order as others start and end. It must not know how elements are
// kept meanwhile.
package jobarray

// QueueDepth is how many elements of one array wait in the queue at a time. It is far
// more than start within the time that the next ones take to come.
const QueueDepth = 1000

// RefillSize is how many elements come into the queue together, as long as so many are
// left: each time costs a write to the disk.
const RefillSize = 100

// Refill is how many more elements come into the queue now, of those that are left,
// when so many wait there. It is none while the queue is nearly full.
func Refill(left, queued int) int {
	n := min(left, RefillSize)
	if QueueDepth-queued < n {
		return 0
	}
	return n
}
