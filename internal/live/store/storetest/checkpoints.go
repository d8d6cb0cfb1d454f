package storetest

import (
	"fmt"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func savedCheckpoint(job core.JobID, n int) store.Checkpoint {
	return store.Checkpoint{Job: job,
		Saved: wire.Saved{N: n, Image: fmt.Sprintf("image%d.%d", job, n), Work: fmt.Sprintf("work%d.%d", job, n)}}
}

func testCheckpoints(f *fixture) {
	f.commitBatch(&store.Batch{Checkpoints: []store.Checkpoint{savedCheckpoint(1, 1), savedCheckpoint(1, 2),
		savedCheckpoint(2, 1), savedCheckpoint(1, 10)}})
	f.commitBatch(&store.Batch{Checkpoints: []store.Checkpoint{savedCheckpoint(1, 11)},
		Forget: []store.CheckpointID{{Job: 1, N: 1}, {Job: 1, N: 11}, {Job: 9, N: 9}}})
	f.checkSame("checkpoints", mustGet[[]wire.Saved](f)(f.s.ListCheckpoints(f.ctx, 1)),
		[]wire.Saved{savedCheckpoint(1, 10).Saved, savedCheckpoint(1, 2).Saved})
	again := savedCheckpoint(1, 2)
	again.Work = "other"
	f.commitBatch(&store.Batch{Checkpoints: []store.Checkpoint{again}})
	f.checkSame("checkpoints", mustGet[[]wire.Saved](f)(f.s.ListCheckpoints(f.ctx, 1)),
		[]wire.Saved{savedCheckpoint(1, 10).Saved, again.Saved})
	f.checkSame("trees", mustGet[[]string](f)(f.s.ListRoots(f.ctx)),
		[]string{"image1.10", "image1.2", "image2.1", "other", "work1.10", "work2.1"})
}

func testRoots(f *fixture) {
	live, done, fetched, bare := aJob(1), aJob(2), aJob(3), aJob(4)
	done.State, done.Result = core.Done, "result2"
	fetched.State, fetched.Result, fetched.StagedOut = core.Done, "result3", true
	bare.Work = ""
	sameTree := savedCheckpoint(1, 1)
	sameTree.Image, sameTree.Work = "", live.Work
	f.commitBatch(&store.Batch{Jobs: []store.Job{live, done, fetched, bare}, Checkpoints: []store.Checkpoint{sameTree}})
	f.checkSame("trees", mustGet[[]string](f)(f.s.ListRoots(f.ctx)), []string{"result2", "work1", "work2"})
}
