package agent

import "time"

// asking decides when the broker is to be told that the deadline is in danger.
// It is asked after every sample and keeps what it needs of the past; no clock, no
// I/O.
type asking struct {
	confidence float64       // the chance of meeting the deadline that the user wants
	sample     time.Duration // between two samples

	samples int // so far
	below   int // successive samples with too small a chance
	asked   bool
	open    bool // no answer to the last question yet
	refused int  // answers since the chance last was large enough
	chance  float64
	at      time.Duration // of the last question or of its answer
}

// When the broker is asked.
const (
	enoughSamples = 5   // before that a program is still beginning
	mustPersist   = 2   // samples below the wanted chance, one after the other
	clearlyWorse  = 0.1 // of the chance, so that a refusal is worth questioning
	unanswered    = 30 * time.Second
	longestPause  = 10 * time.Minute
)

// danger takes the chance after a sample, made now, with so much time left to
// the deadline, and says whether to ask.
func (q *asking) danger(chance float64, now, left time.Duration) bool {
	q.samples++
	if chance >= q.confidence {
		q.below = 0
		if chance >= (1+q.confidence)/2 {
			q.refused = 0 // well out of danger: the next one is a new one
		}
		return false
	}
	q.below++
	if q.samples < q.enough() || q.below < mustPersist || !q.due(chance, now, left) {
		return false
	}
	q.asked, q.open, q.chance, q.at = true, true, chance, now
	return true
}

// enough is fewer samples where they are far apart.
func (q *asking) enough() int {
	if q.sample >= 10*time.Second {
		return 3
	}
	return enoughSamples
}

// due says whether it is time to ask, again if need be.
func (q *asking) due(chance float64, now, left time.Duration) bool {
	switch since := now - q.at; {
	case !q.asked || q.refused == 0 && !q.open:
		return true
	case q.open:
		// The message is repeated until the broker has it; the answer may still
		// have been lost with the broker.
		return since >= max(unanswered, 2*q.sample)
	case chance <= q.chance-clearlyWorse || chance < q.chance/2 && q.chance > 0.02:
		return since >= 2*q.sample
	default:
		return since >= q.pause(left)
	}
}

// pause is how long to wait after a refusal when nothing got worse: longer each
// time, but never so long that the deadline would be upon us.
func (q *asking) pause(left time.Duration) time.Duration {
	p := max(10*time.Second, 5*q.sample)
	for range min(q.refused-1, 6) {
		p *= 2
	}
	if left > 0 {
		p = min(p, left/4)
	}
	return max(min(p, longestPause), 2*q.sample, time.Second)
}

// answered notes that the broker chose to leave things as they are.
func (q *asking) answered(now time.Duration) {
	if !q.open {
		return
	}
	q.open, q.at = false, now
	q.refused++
}
