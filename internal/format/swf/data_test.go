package swf

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// generated is a trace of n jobs as the writer puts it, for where the real
// ones are not at hand.
func generated(t testing.TB, n int) []byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	w := NewWriter(&b)
	var h Header
	h.AddEntry("MaxProcs", "128")
	if err := w.WriteHeader(&h); err != nil {
		t.Fatal(err)
	}
	submit := core.Time(0)
	for i := range n {
		submit = submit.Add(time.Duration(rng.IntN(600)) * time.Second)
		run := time.Duration(rng.IntN(90000)) * time.Second
		r := unknown()
		r.ID, r.Submit, r.Run = int64(i+1), submit, run
		r.Wait = time.Duration(rng.IntN(900000)) * time.Second
		r.Allocated = int32(1 + rng.IntN(128))
		r.RequestedProcs, r.RequestedTime = r.Allocated, 2*run
		r.Status, r.User, r.Group = Completed, int32(rng.IntN(200)), int32(rng.IntN(20))
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// unknown is a record about which nothing is known but that it is job 1.
func unknown() Record {
	var v [numFields]int64
	for i := range v {
		v[i] = Unknown
	}
	r := recordFromNumbers(&v)
	r.ID, r.Submit = 1, 0
	return r
}
