package chunk

import (
	"context"
	"errors"
	"fmt"
)

// What a Source says of a chunk that it cannot give.
var (
	ErrMissing = errors.New("not in the depot")
	ErrDamaged = errors.New("damaged in the depot")
)

// Source gives the plain bytes of a chunk, verified against its ID, or an error
// that is ErrMissing or ErrDamaged.
type Source interface {
	GetChunk(ctx context.Context, id ID) ([]byte, error)
}

// Sink takes chunks. What MissingChunks does not name is there, and stays for a push
// that is under way; what was put is durable once SyncChunks has returned.
type Sink interface {
	MissingChunks(ctx context.Context, ids []ID) ([]ID, error)
	PutChunk(ctx context.Context, id ID, plain []byte) error
	SyncChunks(ctx context.Context) error
}

// AbsentError is the error that says which chunks cannot be had.
type AbsentError struct {
	Missing, Damaged []Sum
}

func (a *AbsentError) Error() string {
	if len(a.Damaged) > 0 {
		return fmt.Sprintf("%v: %s%s", ErrDamaged, a.Damaged[0].ToID(), andMore(len(a.Damaged)-1))
	}
	return fmt.Sprintf("%v: %s%s", ErrMissing, a.Missing[0].ToID(), andMore(len(a.Missing)-1))
}

func andMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

func (a *AbsentError) Is(target error) bool {
	return target == ErrMissing && len(a.Missing) > 0 || target == ErrDamaged && len(a.Damaged) > 0
}

// DistinctSums are ids, each once, in their order.
func DistinctSums(ids []Sum) []Sum {
	seen := make(map[Sum]bool, len(ids))
	var list []Sum
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			list = append(list, id)
		}
	}
	return list
}

// manySource is a Source that gives many chunks at once; see Store.GetMany.
type manySource interface {
	GetMany(ctx context.Context, ids []Sum, give func(id Sum, plain []byte) error) error
}

// GetMany gets chunks from any Source, and trusts none but our own to verify.
func GetMany(ctx context.Context, from Source, ids []Sum, give func(id Sum, plain []byte) error) error {
	if m, ok := from.(manySource); ok {
		return m.GetMany(ctx, ids, give)
	}
	a := &AbsentError{}
	for _, id := range ids {
		plain, err := from.GetChunk(ctx, id.ToID())
		switch {
		case errors.Is(err, ErrMissing):
			a.Missing = append(a.Missing, id)
		case errors.Is(err, ErrDamaged) || err == nil && SumOf(plain) != id:
			a.Damaged = append(a.Damaged, id)
		case err != nil:
			return err
		default:
			if err := give(id, plain); err != nil {
				return err
			}
		}
	}
	if len(a.Missing)+len(a.Damaged) > 0 {
		return a
	}
	return nil
}

// FileSpot is where in a file a chunk is.
type FileSpot struct {
	File   string
	Offset int64
	Size   int
}
