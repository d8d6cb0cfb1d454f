package checkpointing

import "time"

// How long before the manager of the cluster ends us we begin to leave: a tenth
// of the time we had, within bounds.
const (
	minNotice = 5 * time.Second
	maxNotice = 2 * time.Minute
)

// NoticePeriod is how long before the end of a time limit an attempt begins to leave.
func NoticePeriod(limit time.Duration) time.Duration {
	return min(max(limit/10, minNotice), maxNotice)
}
