package broker_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// hangingStore is a store on a disk that hangs once it is told to, until it may go on.
type hangingStore struct {
	store.Store
	hang, goOn chan struct{} // closed
}

func (s *hangingStore) CommitBatch(ctx context.Context, b *store.Batch) error {
	select {
	case <-s.hang:
		<-s.goOn
	default:
	}
	return s.Store.CommitBatch(ctx, b)
}

// Who looks does not wait for the disk, and does not see what is not durable: neither a job that
// is just being taken in, nor what has just become of another.
func TestWhoLooksDoesNotWaitForTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrid(t)
		g.kill()
		disk := &hangingStore{Store: g.store, hang: make(chan struct{}), goOn: make(chan struct{})}
		g.store = disk
		g.up()
		ran := g.submit(jobfile.Job{Name: "running"})
		waiting := g.submit(jobfile.Job{Name: "waiting", After: []jobfile.Dependency{{Job: fmt.Sprint(ran)}}})
		g.next().run()
		g.until(ran, core.Running)

		close(disk.hang)
		taken := make(chan []core.JobID, 1)
		cancel := make(chan error, 1)
		go func() {
			_, err := g.broker().CancelJob(t.Context(), fmt.Sprint(waiting))
			cancel <- err
		}()
		synctest.Wait() // the loop writes that it is cancelled
		go func() {
			ids, err := g.broker().SubmitJob(t.Context(), complete(jobfile.Job{Name: "new"}), "")
			if err != nil || len(ids) != 1 {
				t.Errorf("submitted %v, %v", ids, err)
			}
			taken <- ids
		}()
		shown := make(chan *broker.View, 1)
		go func() {
			v, err := g.broker().GetJob(t.Context(), fmt.Sprint(waiting))
			if err != nil {
				t.Error(err)
			}
			shown <- v
		}()
		synctest.Wait()

		list, err := g.broker().ListJobs(t.Context(), false)
		if err != nil || len(list) != 2 {
			t.Fatalf("%d jobs are listed, %v", len(list), err)
		}
		i := slices.IndexFunc(list, func(v broker.View) bool { return v.ID == waiting })
		if i < 0 || list[i].State.IsTerminal() || list[i].Over || list[i].Spec == nil {
			t.Errorf("what is not durable is listed: %+v", list)
		}
		if v := g.view(ran); v.State != core.Running {
			t.Errorf("the job that runs is shown as %v", v.State)
		}
		select {
		case v := <-shown:
			t.Errorf("what is not durable is shown: %v", v.State)
		case ids := <-taken:
			t.Errorf("job %v is taken in before it is durable", ids)
		default:
		}

		close(disk.goOn)
		if err := <-cancel; err != nil {
			t.Error(err)
		}
		if v := <-shown; v.State != core.Cancelled {
			t.Errorf("the cancelled job is shown as %v", v.State)
		}
		<-taken
		if list, err := g.broker().ListJobs(t.Context(), false); err != nil || len(list) != 3 {
			t.Errorf("%d jobs are listed in the end, %v", len(list), err)
		}
	})
}

// Of an array that is just being changed nothing is told, neither more nor less.
func TestAListWithAnArrayThatIsBeingWrittenWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrid(t)
		g.kill()
		disk := &hangingStore{Store: g.store, hang: make(chan struct{}), goOn: make(chan struct{})}
		g.store = disk
		g.up()
		close(disk.hang)
		go func() {
			if _, err := g.broker().SubmitJob(t.Context(), arrayOf(5000), ""); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		listed := make(chan int, 1)
		go func() {
			list, err := g.broker().ListJobs(t.Context(), false)
			if err != nil {
				t.Error(err)
			}
			listed <- len(list)
		}()
		synctest.Wait()
		select {
		case n := <-listed:
			t.Errorf("%d jobs of an array that is not durable are listed", n)
		default:
		}
		close(disk.goOn)
		if n := <-listed; n == 0 {
			t.Error("the array is missing")
		}
	})
}
