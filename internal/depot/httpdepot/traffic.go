package httpdepot

import (
	"io"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// Traffic is what went between a client and its depot, and how long something did: a
// push that has much to cut and little to send is not busy all the time.
type Traffic struct {
	Sent, Received int64
	Busy           time.Duration
}

// Since is what came since an earlier moment.
func (t Traffic) Since(then Traffic) Traffic {
	return Traffic{t.Sent - then.Sent, t.Received - then.Received, t.Busy - then.Busy}
}

// traffic counts it. Several goroutines may ask at once.
type traffic struct {
	clock    clock.Clock
	mu       sync.Mutex
	total    Traffic
	underWay int
	since    time.Time // when underWay was 0 last
}

// Traffic is all that there was so far.
func (t *traffic) Traffic() Traffic {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.total
	if t.underWay > 0 {
		now.Busy += t.clock.Since(t.since)
	}
	return now
}

// beginRequest notes a request with so many bytes; it has ended when end is called.
func (t *traffic) beginRequest(bytes int) (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.underWay == 0 {
		t.since = t.clock()
	}
	t.underWay++
	t.total.Sent += int64(bytes)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.underWay--; t.underWay == 0 {
			t.total.Busy += t.clock.Since(t.since)
		}
	}
}

// countReader is an answer whose bytes count.
func (t *traffic) countReader(r io.Reader) io.Reader { return &countedReader{r, t} }

type countedReader struct {
	io.Reader
	traffic *traffic
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.traffic.mu.Lock()
	c.traffic.total.Received += int64(n)
	c.traffic.mu.Unlock()
	return n, err
}
