package depot

import (
	"errors"
	"io"
	"os"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
)

var errOtherContent = errors.New("the file holds something else")

// HasContent reports whether a file holds what an entry says. It reads no more of
// the file than up to the first difference.
func HasContent(f *os.File, e *tree.Entry) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() != e.Size {
		return false, err
	}
	var c chunk.Cutter
	left, p := e.Chunks, chunk.PlanFor(e.Size)
	for off := int64(0); off < e.Size; off += p.PieceSize {
		err := c.CutPiece(f, p, off, min(p.PieceSize, e.Size-off), nil, func(id chunk.Sum, _ []byte) error {
			if len(left) == 0 || left[0] != id.ToID() {
				return errOtherContent
			}
			left = left[1:]
			return nil
		})
		switch {
		case errors.Is(err, errOtherContent), errors.Is(err, io.ErrUnexpectedEOF): // it is being written
			return false, nil
		case err != nil:
			return false, err
		}
	}
	return len(left) == 0, nil
}
