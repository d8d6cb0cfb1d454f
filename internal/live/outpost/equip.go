package outpost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/klauspost/compress/zstd"

	"github.com/godwit-hpc/godwit/internal/driver/remote/talk"
)

// sandboxName is what agents look for beside themselves.
const sandboxName = "godwit-sandbox"

// equipment is the sandbox, which comes when the outpost is up already: it is
// large, and most of what an outpost does needs it not.
type equipment struct {
	dir  string // where our binaries are
	vain atomic.Int32
	once sync.Once
	over chan struct{} // closed when it has come, or will not
}

func (e *equipment) markSettled() { e.once.Do(func() { close(e.over) }) }

// waitSettled waits until it has come or will not.
func (e *equipment) waitSettled(ctx context.Context) {
	select {
	case <-e.over:
	case <-ctx.Done():
	}
}

// receiveSandbox takes the sandbox in. The broker sends what is missing of it, compressed,
// over the stream of the request.
func (p *post) receiveSandbox(s talk.Stream, q *talk.Request) {
	a := new(talk.Answer)
	if err := p.box.takeMissing(s, q.Binary); err != nil {
		a = talk.AnswerFromError(err)
	}
	if a.Error == "" || p.box.vain.Add(1) >= talk.MaxEquipTries {
		p.box.markSettled()
	}
	_ = talk.SendMessage(s, a) // else the broker has gone, and asks again
}

// takeMissing takes in what is missing, if anything is.
func (e *equipment) takeMissing(s talk.Stream, b *talk.Binary) error {
	in, have, err := e.beginFile(b)
	if err != nil {
		return err
	}
	if err := talk.SendMessage(s, &talk.Answer{Have: have}); err != nil || in == nil {
		return err
	}
	defer func() { _ = in.Close() }() // which lets another bring it
	return e.receiveRest(s, in, b, have)
}

// beginFile says how much of a binary is there, and opens the file for the rest; nil
// if all of it is.
func (e *equipment) beginFile(b *talk.Binary) (*os.File, int64, error) {
	if e.dir == "" {
		return nil, 0, errors.New("our binaries were not brought here, so there is no place for more")
	}
	at := filepath.Join(e.dir, sandboxName)
	if info, err := os.Stat(at); err == nil && info.Size() == b.Size {
		return nil, b.Size, nil
	}
	if e.reuseOther(at, b) {
		return nil, b.Size, nil
	}
	f, err := os.OpenFile(e.partPath(b), os.O_CREATE|os.O_RDWR, 0o700)
	if err != nil {
		return nil, 0, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, 0, errors.Join(fmt.Errorf("another broker brings it: %w", err), f.Close())
	}
	have, err := f.Seek(0, io.SeekEnd)
	if err == nil && have >= b.Size { // more than it can be, or not what it should be
		have, err = 0, f.Truncate(0)
	}
	if err == nil {
		_, err = f.Seek(have, io.SeekStart)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, have, nil
}

func (e *equipment) partPath(b *talk.Binary) string {
	return filepath.Join(e.dir, "."+sandboxName+"."+b.Sum[:16])
}

// reuseOther takes what was brought for another version or another cluster.
func (e *equipment) reuseOther(at string, b *talk.Binary) bool {
	for _, pattern := range []string{"../*/" + sandboxName, "../../../*/bin/*/" + sandboxName} {
		files, _ := filepath.Glob(filepath.Join(e.dir, pattern)) // the pattern is a good one
		for _, f := range files {
			info, err := os.Stat(f)
			if err != nil || info.Size() != b.Size || checkFileSum(f, b.Sum) != nil {
				continue
			}
			if os.Link(f, at) == nil {
				return true
			}
		}
	}
	return false
}

// receiveRest appends what comes, and puts the file in its place if it is what it
// should be.
func (e *equipment) receiveRest(from io.Reader, to *os.File, b *talk.Binary, have int64) error {
	z, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		return err
	}
	defer z.Close()
	if _, err := io.CopyN(to, z, b.Size-have); err != nil {
		return err
	}
	if err := checkFileSum(to.Name(), b.Sum); err != nil {
		return errors.Join(err, os.Remove(to.Name()))
	}
	return os.Rename(to.Name(), filepath.Join(e.dir, sandboxName))
}

// checkFileSum says what is wrong with a file that should have this sum.
func checkFileSum(path, sum string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != sum {
		return fmt.Errorf("%s was damaged on the way", filepath.Base(path))
	}
	return nil
}

// broughtTo is the folder of our binaries if a broker brought them, of which this
// is one; "" if not.
func broughtTo(self string) string {
	folder := filepath.Dir(self)
	if filepath.Base(filepath.Dir(folder)) != "bin" || !isSum(filepath.Base(folder)) {
		return ""
	}
	return folder
}
