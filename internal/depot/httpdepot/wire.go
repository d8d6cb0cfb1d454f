package httpdepot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/pack"
)

// Client and Handler speak HTTP. Every request is a POST whose path ends in
// what is asked:
//
//	missing  body: IDs, 32 bytes each; answer: positions of those that are not
//	         there, uint32 each
//	put      body: blocks, one after another; every one that arrived stays, even
//	         if the rest does not
//	get      body: IDs; answer: blocks that hold them, among others, then one
//	         list each of those that are missing and damaged, then the end mark
//	hold     body: the ID of a tree; answer: 1 if it and all its chunks are there,
//	         and stay for a push, else 0
//	patch    body: the IDs of a tree that is there and of another, and what
//	         makes the one of the other; answer: 1 if it did, else 0
//	sync     no body; answered when all that was put is durable
//
// A list is "gwM1" (missing) or "gwX1" (damaged), a number uint32 and so many
// IDs. Numbers are little-endian. An error has a status that says which one it
// is, and one line of text.
const (
	listMissing = "gwM1"
	listDamaged = "gwX1"
	endMark     = "gwZ1"

	maxIDs     = 16 << 10 // in one request
	maxPutBody = 64 << 20
	maxErrText = 4 << 10
)

// statusOf tells an error over the wire, and errorOf gets it back.
func statusOf(err error) int {
	var tooMuch *http.MaxBytesError
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, pack.ErrQuota):
		return http.StatusInsufficientStorage
	case errors.Is(err, chunk.ErrBadBlock):
		return http.StatusUnprocessableEntity
	case errors.As(err, &tooMuch):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errBadRequest), errors.Is(err, io.ErrUnexpectedEOF):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

var errBadRequest = errors.New("bad request")

// errorOf makes an error of an answer that is one.
func errorOf(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxErrText))
	if err != nil {
		return fmt.Errorf("the depot answers %s", resp.Status)
	}
	cause := fmt.Errorf("the depot answers %s: %s", resp.Status, text)
	told := &remoteError{error: cause, troubled: resp.StatusCode >= http.StatusInternalServerError}
	switch resp.StatusCode {
	case http.StatusInsufficientStorage:
		told.is = syscall.ENOSPC
	case http.StatusUnprocessableEntity:
		told.is = chunk.ErrDamaged
	}
	return told
}

// remoteError says what the depot said, and is what it was there.
type remoteError struct {
	error
	is       error // nil: nothing in particular
	troubled bool
}

func (e *remoteError) Unwrap() error { return e.is }

// IsTroubled says whether a depot that was reached could not do what it was asked
// for reasons of its own, as a full disk: later it may.
func IsTroubled(err error) bool {
	var told *remoteError
	return errors.As(err, &told) && told.troubled
}

// appendIDs writes ids down.
func appendIDs(dst []byte, ids []chunk.Sum) []byte {
	for _, id := range ids {
		dst = append(dst, id[:]...)
	}
	return dst
}

// readIDs reads the body of a request: IDs, none longer than allowed.
func readIDs(r io.Reader) ([]chunk.Sum, error) {
	b, err := io.ReadAll(io.LimitReader(r, 32*maxIDs+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBadRequest, err)
	}
	if len(b)%32 != 0 || len(b) > 32*maxIDs {
		return nil, fmt.Errorf("%w: want at most %d IDs of 32 bytes", errBadRequest, maxIDs)
	}
	ids := make([]chunk.Sum, len(b)/32)
	for i := range ids {
		ids[i] = chunk.Sum(b[32*i:])
	}
	return ids, nil
}

func appendList(dst []byte, kind string, ids []chunk.Sum) []byte {
	if len(ids) == 0 {
		return dst
	}
	dst = append(dst, kind...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(ids)))
	return appendIDs(dst, ids)
}

// readAnswer reads the answer to get: it calls each for every block, and
// returns the lists. An answer without an end was cut off.
func readAnswer(r io.Reader, each func(*chunk.Block) error) (*chunk.AbsentError, error) {
	a := &chunk.AbsentError{}
	var buf []byte
	for {
		var magic [4]byte
		if _, err := io.ReadFull(r, magic[:]); err != nil {
			return nil, io.ErrUnexpectedEOF
		}
		switch string(magic[:]) {
		case chunk.BlockMagic:
			b, used, err := chunk.ReadBlock(io.MultiReader(newOnce(magic), r), buf)
			buf = used
			if err != nil {
				return nil, err
			}
			if err := each(b); err != nil {
				return nil, err
			}
		case listMissing, listDamaged:
			ids, err := readList(r)
			if err != nil {
				return nil, err
			}
			if string(magic[:]) == listMissing {
				a.Missing = append(a.Missing, ids...)
			} else {
				a.Damaged = append(a.Damaged, ids...)
			}
		case endMark:
			return a, nil
		default:
			return nil, fmt.Errorf("%w: neither block nor list", chunk.ErrBadBlock)
		}
	}
}

// once gives the four bytes that were looked at already.
type once struct{ left []byte }

func newOnce(b [4]byte) *once { return &once{b[:]} }

func (o *once) Read(p []byte) (int, error) {
	if len(o.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, o.left)
	o.left = o.left[n:]
	return n, nil
}

func readList(r io.Reader) ([]chunk.Sum, error) {
	var n [4]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	count := binary.LittleEndian.Uint32(n[:])
	if count == 0 || count > maxIDs {
		return nil, fmt.Errorf("%w: a list of %d", chunk.ErrBadBlock, count)
	}
	b := make([]byte, 32*count)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	ids := make([]chunk.Sum, count)
	for i := range ids {
		ids[i] = chunk.Sum(b[32*i:])
	}
	return ids, nil
}
