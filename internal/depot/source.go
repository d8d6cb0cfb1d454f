package depot

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

// absent is the error that says which chunks cannot be had.
type absent struct {
	missing, damaged []sum
}

func (a *absent) Error() string {
	if len(a.damaged) > 0 {
		return fmt.Sprintf("%v: %s%s", ErrDamaged, a.damaged[0].toID(), andMore(len(a.damaged)-1))
	}
	return fmt.Sprintf("%v: %s%s", ErrMissing, a.missing[0].toID(), andMore(len(a.missing)-1))
}

func andMore(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

func (a *absent) Is(target error) bool {
	return target == ErrMissing && len(a.missing) > 0 || target == ErrDamaged && len(a.damaged) > 0
}

// distinctSums are ids, each once, in their order.
func distinctSums(ids []sum) []sum {
	seen := make(map[sum]bool, len(ids))
	var list []sum
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			list = append(list, id)
		}
	}
	return list
}

// manySource is a Source that gives many chunks at once; see Store.getMany.
type manySource interface {
	getMany(ctx context.Context, ids []sum, give func(id sum, plain []byte) error) error
}

// getMany gets chunks from any Source, and trusts none but our own to verify.
func getMany(ctx context.Context, from Source, ids []sum, give func(id sum, plain []byte) error) error {
	if m, ok := from.(manySource); ok {
		return m.getMany(ctx, ids, give)
	}
	a := &absent{}
	for _, id := range ids {
		plain, err := from.GetChunk(ctx, id.toID())
		switch {
		case errors.Is(err, ErrMissing):
			a.missing = append(a.missing, id)
		case errors.Is(err, ErrDamaged) || err == nil && sumOf(plain) != id:
			a.damaged = append(a.damaged, id)
		case err != nil:
			return err
		default:
			if err := give(id, plain); err != nil {
				return err
			}
		}
	}
	if len(a.missing)+len(a.damaged) > 0 {
		return a
	}
	return nil
}
