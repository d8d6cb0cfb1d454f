package store_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/live/store/memory"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// What belongs together is one batch: a record and the command that follows from it become
// durable at once or not at all, and the next broker finds both.
func Example() {
	ctx, s := context.Background(), memory.New()
	job := store.Job{ID: 1, Unique: "k3b1a81b1cfa5cfc", User: "ada", State: core.Submitted,
		Spec: &jobfile.Job{Name: "pi", Argv: []string{"pi", "2000"}, Min: 1, Max: 1}}
	start := store.Outbound{ID: 1, Command: core.Command{Kind: core.Start, Job: 1, Epoch: 1}}
	if err := s.CommitBatch(ctx, &store.Batch{Jobs: []store.Job{job}, Send: []store.Outbound{start}}); err != nil {
		fmt.Println(err)
	}
	l, err := s.LoadState(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, j := range l.Jobs {
		fmt.Printf("job %d (%s) is %s\n", j.ID, j.Spec.Name, j.State)
	}
	for _, o := range l.Outbox {
		fmt.Printf("to do: %s job %d\n", o.Command.Kind, o.Command.Job)
	}
	_, err = s.FindJob(ctx, "2")
	fmt.Println(err, errors.Is(err, store.ErrNoJob))
	// Output:
	// job 1 (pi) is SUBMITTED
	// to do: start job 1
	// no such job: "2" true
}
