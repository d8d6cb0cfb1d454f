package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
)

func TestLargeRequestsOfAUserAreAnsweredAFewAtOnce(t *testing.T) {
	const alice, bob = 1001, 1002
	large := func() *http.Request { return httptest.NewRequest(http.MethodGet, "/v1/select?job=all", nil) }
	for name, c := range map[string]struct {
		request func() *http.Request
		limit   int
	}{
		"a list":         {large, maxLargeRequests},
		"a large body":   {func() *http.Request { return requestOf(largeBody + 1) }, maxLargeRequests},
		"of the depot":   {func() *http.Request { return httptest.NewRequest(http.MethodPost, "/v1/depot/put", nil) }, maxDepotRequests},
		"a small body":   {func() *http.Request { return requestOf(largeBody) }, 100},
		"one job":        {func() *http.Request { return httptest.NewRequest(http.MethodGet, "/v1/jobs/7", nil) }, 100},
		"a conversation": {func() *http.Request { return httptest.NewRequest(http.MethodPost, "/v1/agent", nil) }, 100},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at, end := map[uint32]int{}, make(chan bool)
				began := make(chan uint32)
				h := limitLargeRequests(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					began <- r.Context().Value(askerKey{}).(uint32)
					<-end
				}))
				go func() {
					for uid := range began {
						at[uid]++
					}
				}()
				gone, leave := context.WithCancel(context.WithValue(t.Context(), askerKey{}, uint32(alice)))
				ask := func(ctx context.Context) {
					go h.ServeHTTP(httptest.NewRecorder(), c.request().WithContext(ctx))
				}
				for range 100 {
					ask(gone)
				}
				synctest.Wait()
				ask(context.WithValue(t.Context(), askerKey{}, uint32(bob)))
				synctest.Wait()
				if at[alice] != c.limit || at[bob] != 1 {
					t.Errorf("%d of alice and %d of bob are answered at once, want %d and 1", at[alice], at[bob], c.limit)
				}
				end <- true // one of them, whoever's
				synctest.Wait()
				leave() // those that wait are not answered any more
				synctest.Wait()
				close(end)
				synctest.Wait()
				if at[alice] > c.limit+1 {
					t.Errorf("%d requests were answered, whose client had gone", at[alice]-c.limit-1)
				}
				close(began)
			})
		})
	}
}

func TestWhoAsksIsAUserOrAClusterOfTheOnlyOne(t *testing.T) {
	from := func(ctx context.Context, cluster string) context.Context {
		return context.WithValue(ctx, callerKey{}, cluster)
	}
	user := context.WithValue(t.Context(), askerKey{}, uint32(7))
	for _, c := range []struct {
		ctx  context.Context
		want asker
	}{
		{t.Context(), asker{}},
		{from(t.Context(), "east"), asker{cluster: "east"}},
		{user, asker{uid: 7}},
		{from(user, "east"), asker{uid: 7}}, // whatever name a process of theirs gives itself
	} {
		if got := askerOf(c.ctx); got != c.want {
			t.Errorf("%+v asks, want %+v", got, c.want)
		}
	}
}

func requestOf(size int) *http.Request {
	return httptest.NewRequest(http.MethodPost, "/v1/jobs", strings.NewReader(strings.Repeat("x", size)))
}
