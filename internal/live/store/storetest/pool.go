package storetest

import (
	"errors"
	"slices"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func aPool(id int64, owner uint32, key string) store.Pool {
	return store.Pool{ID: id, Owner: owner, Key: key, User: "ada", Submitted: core.AtSecond(9), Spec: []byte(`{"a":1}`),
		Name: "sums", State: store.PoolRunning, Work: "tree", Items: 9000, Workers: []core.JobID{4, 5}}
}

func testPools(f *fixture) {
	first, other := aPool(1, 7, "k1"), aPool(2, 8, "k1")
	f.commitBatch(&store.Batch{Pools: []store.Pool{first, other},
		PoolChunks: []store.PoolChunk{{Pool: 1, N: 1, Counted: []uint64{1}}, {Pool: 1, N: 0, Counted: []uint64{1 << 63, 3},
			Failed: []store.PoolFailure{{Item: 64, Code: 3}}}, {Pool: 2, N: 0, Counted: []uint64{9}}}})
	if roots := mustGet[[]string](f)(f.s.ListRoots(f.ctx)); !slices.Contains(roots, "tree") {
		f.Errorf("the files of an open pool are not needed: %v", roots)
	}
	first.State, first.Ended, first.Spec, first.Done, first.Failed = store.PoolFailed, core.AtSecond(20), nil, 3, 1
	f.commitBatch(&store.Batch{Pools: []store.Pool{first},
		PoolChunks: []store.PoolChunk{{Pool: 1, N: 1, Counted: []uint64{5}}}})
	f.crashStore()
	got, err := f.s.FindPool(f.ctx, 1)
	f.mustSucceed(err)
	if string(got.Spec) != `{"a":1}` || got.Key != "k1" || got.Owner != 7 || got.User != "ada" ||
		got.Submitted != core.AtSecond(9) {
		f.Errorf("the pool is %+v", got)
	}
	f.checkSame("pool", got, &first)
	chunks := mustGet[[]store.PoolChunk](f)(f.s.ListPoolChunks(f.ctx, 1))
	f.checkSame("chunks", chunks, []store.PoolChunk{{Pool: 1, N: 0, Counted: []uint64{1 << 63, 3},
		Failed: []store.PoolFailure{{Item: 64, Code: 3}}}, {Pool: 1, N: 1, Counted: []uint64{5}}})
	listed := func(filter store.FlowFilter, want ...int64) {
		f.Helper()
		var ids []int64
		for _, p := range mustGet[[]store.Pool](f)(f.s.ListPools(f.ctx, filter)) {
			ids = append(ids, p.ID)
		}
		f.checkSame("pools", ids, want)
	}
	listed(store.FlowFilter{AllOwners: true}, 2, 1)
	listed(store.FlowFilter{AllOwners: true, Open: true}, 2)
	listed(store.FlowFilter{Owner: 7}, 1)
	listed(store.FlowFilter{Owner: 8, Key: "k1"}, 2)
	if _, err := f.s.FindPool(f.ctx, 3); !errors.Is(err, store.ErrNoPool) {
		f.Errorf("a pool that there is not: %v", err)
	}
	for what, wrong := range map[string]store.Batch{
		"a second one of its owner and key": {Pools: []store.Pool{aPool(3, 7, "k1")}},
		"one without a key":                 {Pools: []store.Pool{aPool(3, 7, "")}},
		"one without a description":         {Pools: []store.Pool{{ID: 3, Key: "x", State: store.PoolRunning}}},
		"a chunk of no pool":                {PoolChunks: []store.PoolChunk{{N: 1}}},
	} {
		if err := f.s.CommitBatch(f.ctx, &wrong); err == nil {
			f.Errorf("%s was stored", what)
		}
	}
}
