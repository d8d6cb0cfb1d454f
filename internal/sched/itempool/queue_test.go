package itempool

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func worker(n int) WorkerID { return WorkerID{Job: core.JobID(n), Epoch: 1} }

func TestItemsAreGivenInOrderAndThoseThatCameBackFirst(t *testing.T) {
	q := NewQueue(10, nil)
	if got := q.GiveItems(worker(1), 3); !slices.Equal(got, []int{0, 1, 2}) {
		t.Error(got)
	}
	if got := q.GiveItems(worker(2), 2); !slices.Equal(got, []int{3, 4}) {
		t.Error(got)
	}
	count, drop := q.TakeReport(worker(1), []int{1}, []int{2}) // the answer with item 0 did not reach it
	if !slices.Equal(count, []int{1}) || drop != nil || q.Left() != 9 || q.Waiting() != 6 {
		t.Error(count, drop, q.Left(), q.Waiting())
	}
	q.ReleaseWorker(worker(2), true)
	if got := q.GiveItems(worker(3), 4); !slices.Equal(got, []int{0, 3, 4, 5}) {
		t.Error(got)
	}
}

func TestAnOutcomeCountsOnceAndOnlyOfWhoHoldsTheItem(t *testing.T) {
	q := NewQueue(3, nil)
	q.GiveItems(worker(1), 1)
	q.ReleaseWorker(worker(1), false) // it is taken for gone
	q.GiveItems(worker(2), 1)
	if count, drop := q.TakeReport(worker(1), []int{0, 9, -1}, []int{0, 1}); count != nil || !slices.Equal(drop, []int{0}) {
		t.Errorf("of another's item %v counts, and %v is to be dropped", count, drop)
	}
	for range 2 {
		count, _ := q.TakeReport(worker(2), []int{0, 0}, nil)
		if q.Left() != 2 {
			t.Errorf("%v counts, %d are left", count, q.Left())
		}
	}
	if q.HeldBy(worker(1)) != 1 || q.Waiting() != 1 {
		t.Error("an item that nobody held is not taken up from who has it")
	}
}

func TestAQueueGoesOnWithWhatIsCounted(t *testing.T) {
	q := NewQueue(5, []uint64{0b11010})
	if q.Left() != 2 || !slices.Equal(q.GiveItems(worker(1), 9), []int{0, 2}) || q.Waiting() != 0 {
		t.Error(q.Left(), q.Waiting())
	}
	if over := NewQueue(2, []uint64{^uint64(0)}); over.Left() != 0 {
		t.Errorf("%d are left", over.Left())
	}
}

func TestAnItemThatEndsItsWorkersIsGivenAloneAndThenFails(t *testing.T) {
	q := NewQueue(4, nil)
	for range suspectLosses {
		q.GiveItems(worker(1), 2)
		if failed := q.ReleaseWorker(worker(1), true); failed != nil {
			t.Fatalf("%v failed", failed)
		}
	}
	q.GiveItems(worker(2), 1)
	if got := q.GiveItems(worker(2), 9); got != nil {
		t.Errorf("beside item 0, which is suspect, %v was given", got)
	}
	if got := q.GiveItems(worker(3), 9); !slices.Equal(got, []int{1}) {
		t.Errorf("%v was given with a suspect", got)
	}
	if got := q.GiveItems(worker(4), 9); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("%v was given", got)
	}
	q.TakeReport(worker(3), []int{1}, nil)
	var failed []int
	for range MaxLosses - suspectLosses {
		failed = q.ReleaseWorker(worker(2), true)
		q.GiveItems(worker(2), 9)
	}
	if !slices.Equal(failed, []int{0}) || q.Left() != 2 {
		t.Errorf("%v failed, %d left", failed, q.Left())
	}
}

// listWorkers lists the workers that hold something, by job and epoch.
func listWorkers(q *Queue) []WorkerID {
	list := make([]WorkerID, 0, len(q.held))
	for w := range q.held {
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b WorkerID) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Epoch, b.Epoch))
	})
	return list
}

// Whatever workers say, whoever is lost and however often the broker is started anew, every item
// is counted once, and all of them in the end.
func TestEveryItemIsCountedOnceWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.IntRange(1, 200).Draw(t, "items")
		q := NewQueue(items, nil)
		times := make([]int, items)
		holds := map[WorkerID][]int{} // as the workers know it
		count := func(list []int) {
			for _, item := range list {
				times[item]++
			}
		}
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			w := WorkerID{Job: core.JobID(rapid.IntRange(1, 4).Draw(t, "job")),
				Epoch: core.Epoch(rapid.IntRange(1, 2).Draw(t, "epoch"))}
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				count(q.ReleaseWorker(w, rapid.Bool().Draw(t, "lost")))
			case 1: // the broker is started anew
				stored := make([]uint64, (items+63)/64)
				for i, n := range times {
					if n > 0 {
						stored[i/64] |= 1 << (i % 64)
					}
				}
				q = NewQueue(items, stored)
			default:
				n := rapid.IntRange(0, len(holds[w])).Draw(t, "done")
				counted, drop := q.TakeReport(w, holds[w][:n], holds[w][n:])
				count(counted)
				if rapid.IntRange(0, 3).Draw(t, "answer lost") == 0 {
					q.GiveItems(w, 5)
					continue
				}
				holds[w] = slices.DeleteFunc(slices.Clone(holds[w][n:]), func(i int) bool { return slices.Contains(drop, i) })
				holds[w] = append(holds[w], q.GiveItems(w, rapid.IntRange(0, 20).Draw(t, "more"))...)
			}
		}
		for _, w := range listWorkers(q) {
			count(q.ReleaseWorker(w, false))
		}
		for q.Left() > 0 {
			given := q.GiveItems(worker(9), items)
			if len(given) == 0 {
				t.Fatalf("%d items are left, and nobody gets them", q.Left())
			}
			counted, _ := q.TakeReport(worker(9), given, nil)
			count(counted)
		}
		for item, n := range times {
			if n != 1 {
				t.Errorf("item %d was counted %d times", item, n)
			}
		}
	})
}

func TestWorkersGetHalfASecondOfWorkAndLessTowardsTheEnd(t *testing.T) {
	for _, c := range []struct {
		load        Load
		holds, want int
	}{
		{Load{Waiting: 1000, Workers: 1}, 0, 1},                                 // nobody knows how long one takes
		{Load{Waiting: 100_000, Workers: 8, Seconds: 0.001}, 0, 500},            //
		{Load{Waiting: 100_000, Workers: 8, Seconds: 0.001}, 200, 300},          //
		{Load{Waiting: 160, Workers: 8, Seconds: 0.001}, 0, 10},                 // all are to end together
		{Load{Waiting: 3, Workers: 8, Seconds: 0.001}, 0, 1},                    //
		{Load{Waiting: 100, Workers: 2, Seconds: 30}, 0, 1},                     //
		{Load{Waiting: 100, Workers: 2, Seconds: 30}, 1, 0},                     //
		{Load{Waiting: 100_000_000, Workers: 2, Seconds: 1e-9}, 0, maxBatch},    //
		{Load{Waiting: 0, Workers: 2, Seconds: 1e-9}, 0, 0},                     //
		{Load{Waiting: 80, Workers: 8, Queued: 7, Seconds: 0.001}, 0, 40},       // seven of them hold nothing
		{Load{Waiting: 100_000, Workers: 0, Queued: 0, Seconds: 0.001}, 0, 500}, // it is not known yet who asks
	} {
		if got := c.load.BatchSize(c.holds); got != c.want {
			t.Errorf("%+v: %d holds %d more", c.load, got, c.holds)
		}
	}
}

func TestMoreWorkersComeWhileItemsWaitAndProcessorsAreFree(t *testing.T) {
	for what, c := range map[string]struct {
		load Load
		want int
	}{
		"as many as are wanted at least":        {Load{Min: 2, Max: 8, Left: 100, Waiting: 100}, 2},
		"never more than items":                 {Load{Min: 5, Max: 8, Left: 3, Waiting: 3, Idle: 9}, 3},
		"as many as are free":                   {Load{Min: 1, Max: 8, Left: 100, Waiting: 90, Workers: 2, Idle: 3}, 3},
		"those that wait will take what is":     {Load{Min: 1, Max: 8, Left: 100, Waiting: 90, Workers: 4, Queued: 2, Idle: 3}, 1},
		"not above the maximum":                 {Load{Min: 1, Max: 8, Left: 1000, Waiting: 900, Workers: 7, Idle: 30}, 1},
		"not when nothing waits":                {Load{Min: 1, Max: 8, Left: 10, Workers: 3, Idle: 30}, 0},
		"not for the last second":               {Load{Min: 1, Max: 8, Left: 500, Waiting: 400, Workers: 1, Idle: 9, Seconds: 0.001}, 0},
		"for a second that is far from over":    {Load{Min: 1, Max: 8, Left: 50, Waiting: 40, Workers: 1, Idle: 9, Seconds: 1}, 7},
		"none for a pool that is done":          {Load{Min: 1, Max: 8, Idle: 9}, 0},
		"one for the last item if all are gone": {Load{Min: 1, Max: 8, Left: 1, Waiting: 1}, 1},
	} {
		if got := c.load.MissingWorkers(); got != c.want {
			t.Errorf("%s: %d come, want %d", what, got, c.want)
		}
	}
}

func TestWorkersLeaveWhenNothingWaitsButThoseThatAreWanted(t *testing.T) {
	for _, c := range []struct {
		load Load
		want bool
	}{
		{Load{Min: 1, Max: 8, Left: 5, Waiting: 1, Workers: 8}, false},
		{Load{Min: 1, Max: 8, Left: 5, Workers: 8}, true},
		{Load{Min: 4, Max: 8, Left: 5, Workers: 4}, false},
		{Load{Min: 4, Max: 8, Left: 2, Workers: 3}, true},
		{Load{Min: 0, Max: 8, Left: 2, Workers: 1}, false},
		{Load{Min: 4, Max: 8, Workers: 1}, true},
	} {
		if got := c.load.MayLeave(); got != c.want {
			t.Errorf("%+v: %v", c.load, got)
		}
	}
}
