package checkpointing

import "time"

// DeadlineAlarm decides when the broker is to be told that the deadline is in danger.
// It is asked after every sample and keeps what it needs of the past; no clock, no
// I/O.
type DeadlineAlarm struct {
	Confidence     float64       // the chance of meeting the deadline that the user wants
	SampleInterval time.Duration // between two samples

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
	minSamples      = 5   // before that a program is still beginning
	minBelowSamples = 2   // samples below the wanted chance, one after the other
	clearlyWorse    = 0.1 // of the chance, so that a refusal is worth questioning
	answerTimeout   = 30 * time.Second
	maxPause        = 10 * time.Minute
)

// IsInDanger takes the chance after a sample, made now, with so much time left to
// the deadline, and says whether to ask.
func (q *DeadlineAlarm) IsInDanger(chance float64, now, left time.Duration) bool {
	q.samples++
	if chance >= q.Confidence {
		q.below = 0
		if chance >= (1+q.Confidence)/2 {
			q.refused = 0 // well out of danger: the next one is a new one
		}
		return false
	}
	q.below++
	if q.samples < q.samplesNeeded() || q.below < minBelowSamples || !q.isDue(chance, now, left) {
		return false
	}
	q.asked, q.open, q.chance, q.at = true, true, chance, now
	return true
}

// samplesNeeded is fewer samples where they are far apart.
func (q *DeadlineAlarm) samplesNeeded() int {
	if q.SampleInterval >= 10*time.Second {
		return 3
	}
	return minSamples
}

// isDue says whether it is time to ask, again if need be.
func (q *DeadlineAlarm) isDue(chance float64, now, left time.Duration) bool {
	switch since := now - q.at; {
	case !q.asked || q.refused == 0 && !q.open:
		return true
	case q.open:
		// The message is repeated until the broker has it; the answer may still
		// have been lost with the broker.
		return since >= max(answerTimeout, 2*q.SampleInterval)
	case chance <= q.chance-clearlyWorse || chance < q.chance/2 && q.chance > 0.02:
		return since >= 2*q.SampleInterval
	default:
		return since >= q.refusalPause(left)
	}
}

// refusalPause is how long to wait after a refusal when nothing got worse: longer each
// time, but never so long that the deadline would be upon us.
func (q *DeadlineAlarm) refusalPause(left time.Duration) time.Duration {
	p := max(10*time.Second, 5*q.SampleInterval)
	for range min(q.refused-1, 6) {
		p *= 2
	}
	if left > 0 {
		p = min(p, left/4)
	}
	return max(min(p, maxPause), 2*q.SampleInterval, time.Second)
}

// ResetDeadline notes that the deadline is another one: what was asked and answered was about the one before, and the
// next sample is enough to ask.
func (q *DeadlineAlarm) ResetDeadline() {
	q.asked, q.open, q.refused, q.below = false, false, 0, minBelowSamples
}

// RecordAnswer notes that the broker chose to leave things as they are.
func (q *DeadlineAlarm) RecordAnswer(now time.Duration) {
	if !q.open {
		return
	}
	q.open, q.at = false, now
	q.refused++
}
