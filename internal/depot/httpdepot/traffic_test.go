package httpdepot_test

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/depottest"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
)

// What a client is busy with is what it waits for, not what it does itself, and two
// requests at once count once.
func TestTrafficIsCounted(t *testing.T) {
	asked, answer := make(chan struct{}, 2), make(chan struct{})
	store := httpdepot.NewHandler(openStore(t, t.TempDir()))
	client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if filepath.Base(r.URL.Path) == "sync" {
			asked <- struct{}{}
			<-answer
		}
		store.ServeHTTP(w, r)
	}))
	const size = 1 << 20
	dir := t.TempDir()
	depottest.WriteFile(t, filepath.Join(dir, "file"), depottest.RandomBytes(1, size))
	begin := time.Now()
	ended := make(chan error, 2)
	for range 2 {
		go func() { ended <- client.SyncChunks(t.Context()) }()
	}
	<-asked
	<-asked
	time.Sleep(20 * time.Millisecond) // the time that is to be counted
	if busy := client.Traffic().Busy; busy < 20*time.Millisecond || busy > time.Since(begin) {
		t.Errorf("busy for %v", busy)
	}
	close(answer)
	for range 2 {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	if busy := client.Traffic().Busy; busy < 20*time.Millisecond || busy > time.Since(begin) {
		t.Errorf("busy for %v after %v", busy, time.Since(begin))
	}
	before := client.Traffic()
	id, _, stats, err := depot.PushFolder(t.Context(), dir, client, depot.PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pushed := client.Traffic().Since(before)
	if pushed.Sent < stats.Moved || pushed.Sent > stats.Moved+size/10 || pushed.Received > size/10 || pushed.Busy <= 0 {
		t.Errorf("pushing %d bytes was %+v", stats.Moved, pushed)
	}
	before = client.Traffic()
	if _, err := depot.FetchTree(t.Context(), client, id, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if got := client.Traffic().Since(before); got.Received < size || got.Received > size+size/10 || got.Sent > size/10 {
		t.Errorf("fetching was %+v", got)
	}
}
