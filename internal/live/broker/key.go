package broker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// A job may come with a key that its submitter made up. Its unique id follows from
// the key and its owner, so that whoever does not know whether a submission arrived,
// because one of the two died meanwhile, makes it again without harm.

// keyRef is how a job is asked for by its key.
const keyRef = "key:"

// uniqueOf is the unique id of a new job.
func uniqueOf(owner User, key string) string {
	if key == "" {
		return newUnique()
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", owner.ID, key))
	return "k" + hex.EncodeToString(sum[:])[:15] // never a number
}

// byKey turns a key into the unique id that belongs to it.
func (b *Broker) byKey(ctx context.Context, ref string) (string, error) {
	key, ok := strings.CutPrefix(ref, keyRef)
	if !ok || key == "" {
		return ref, nil
	}
	owner, err := b.requestUser(ctx)
	return uniqueOf(owner, key), err
}

// submittedBefore lists what was submitted with a key before: a job, or those of an array, whose
// first job has the key and which have successive numbers.
func (t *turn) submittedBefore(owner User, key string) ([]core.JobID, error) {
	if key == "" {
		return nil, nil
	}
	unique := uniqueOf(owner, key)
	for id, j := range t.touched { // at most one has it, and that is not stored yet
		if j.rec.Unique == unique {
			return submittedWith(id, j.spec), nil
		}
	}
	rec, err := t.b.opt.Store.FindJob(t.b.ctx, unique)
	switch {
	case err == nil:
		return submittedWith(rec.ID, rec.Spec), nil
	case errors.Is(err, store.ErrNoJob):
		return nil, nil
	}
	return nil, err
}

func submittedWith(first core.JobID, spec *jobfile.Job) []core.JobID {
	n := 1
	if spec != nil {
		n = max(1, spec.Array.Len())
	}
	ids := make([]core.JobID, n)
	for i := range ids {
		ids[i] = first + core.JobID(i)
	}
	return ids
}
