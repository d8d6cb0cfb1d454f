package server

import (
	"context"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// Requests that take memory by the megabyte are answered a few at once for each user; the others
// of that user wait. Without it the connections that a user may have would let them take all
// memory of a broker of several.
const (
	// maxLargeRequests is how many requests with a large body, or for a list of any length,
	// are answered at once for a user.
	maxLargeRequests = 4
	// maxDepotRequests is how many requests to the depot are. Agents of many jobs bring and
	// fetch at the same time, some of them over slow lines.
	maxDepotRequests = 32
	// largeBody is what counts as one.
	largeBody = 256 << 10
)

// isLargeAnswer tells whether an answer grows with what a user has.
func isLargeAnswer(r *http.Request) bool {
	switch path.Base(r.URL.Path) {
	case "explain", "tasks", "failures", "timeline", "bulk":
		return true
	}
	switch r.URL.Path {
	case "/v1/jobs", "/v1/flows", "/v1/pools":
		return r.Method == http.MethodGet // else one is submitted
	case "/v1/select", "/v1/history", "/v1/history/calibration", "/v1/depot-usage", "/v1/depot-prune",
		"/v1/log":
		return true
	}
	return false
}

// limitLargeRequests has h answer only some of the requests of a user that take much memory at once.
func limitLargeRequests(h http.Handler) http.Handler {
	large, toDepot := newUserSlots(maxLargeRequests), newUserSlots(maxDepotRequests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var slots *userSlots
		switch p := r.URL.Path; {
		case p == wire.Path: // a conversation, which lasts as long as its job
		case strings.HasPrefix(p, wire.Depot):
			slots = toDepot
		case r.ContentLength < 0 || r.ContentLength > largeBody || isLargeAnswer(r):
			slots = large
		}
		if slots != nil {
			leave, err := slots.enterSlot(r.Context(), askerOf(r.Context()))
			if err != nil {
				return // nobody waits for the answer any more
			}
			defer leave()
		}
		h.ServeHTTP(w, r)
	})
}

// askerKey is where a context has the number of the user who asks, if there are several.
type askerKey struct{}

// asker is who asks for something: a user, or, if there is only one, a cluster of theirs.
type asker struct {
	uid     uint32
	cluster string
}

// askerOf is who asks. A user who is alone may say from which cluster: what comes from one whose
// line is dead does not hold up the others. Among several it could be said to take more.
func askerOf(ctx context.Context) (a asker) {
	uid, several := ctx.Value(askerKey{}).(uint32)
	if several {
		return asker{uid: uid}
	}
	a.cluster, _ = ctx.Value(callerKey{}).(string)
	return a
}

// userSlots lets each user do a few things at once.
type userSlots struct {
	limit int

	mu sync.Mutex
	of map[asker]chan struct{}
}

func newUserSlots(limit int) *userSlots {
	return &userSlots{limit: limit, of: map[asker]chan struct{}{}}
}

// enterSlot waits until who asks does fewer things than the limit.
func (s *userSlots) enterSlot(ctx context.Context, who asker) (leave func(), err error) {
	s.mu.Lock()
	slots := s.of[who]
	if slots == nil {
		slots = make(chan struct{}, s.limit)
		s.of[who] = slots
	}
	s.mu.Unlock()
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
