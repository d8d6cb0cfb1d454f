// Package jobarray decides how many elements of a job array are in the queue at a
// time. An array may have a hundred thousand of them: those that could not start for
// a long time are kept out of the queue, where each would cost time and memory, and
// come in their order as others start and end. It must not know how elements are
// kept meanwhile.
package jobarray

// QueueDepth is how many elements of one array wait in the queue at a time. It is far
// more than start within the time that the next ones take to come.
const QueueDepth = 1000

// Load is what an array has in the queue.
type Load struct {
	Limit   int // elements that may be in the queue or run at once, as the user wants; 0: any number
	Entered int // elements that were let in and have not ended
	Queued  int // of these, that have not started
}

// Admit is how many more elements come in now, of those that are ready to.
func (l Load) Admit(ready int) int {
	room := QueueDepth - l.Queued
	if l.Limit > 0 {
		room = min(room, l.Limit-l.Entered)
	}
	return max(0, min(room, ready))
}
