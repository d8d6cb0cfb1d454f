package output

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Pipes are stdout and stderr of the program: what comes out of them goes to the
// spool, in order and whole.
type Pipes struct {
	spool   *Spool
	stop    chan struct{} // closed to end the readers
	ended   sync.WaitGroup
	Writers [2]*os.File // for the program
	r       [2]*os.File
	stream  [2]reading
	paused  atomic.Bool // only drain reads
}

// reading is one pipe. Who reads holds mu from before the read until the bytes
// are in the spool, so that after drain none is on the way between.
type reading struct {
	mu  sync.Mutex
	buf []byte
}

// PipeBuffer is how much is read from a pipe at a time.
const PipeBuffer = 64 << 10

// OpenPipes makes the pipes and begins to read them.
func OpenPipes(s *Spool) (*Pipes, error) {
	p := &Pipes{spool: s, stop: make(chan struct{})}
	for i := range p.r {
		var fd [2]int
		if err := unix.Pipe2(fd[:], unix.O_CLOEXEC); err != nil {
			p.ClosePipes()
			return nil, fmt.Errorf("making a pipe for the output: %w", err)
		}
		// Only our end does not block: the program gets an ordinary pipe.
		err := unix.SetNonblock(fd[0], true)
		p.r[i], p.Writers[i] = os.NewFile(uintptr(fd[0]), "output"), os.NewFile(uintptr(fd[1]), "output")
		if err != nil {
			p.ClosePipes()
			return nil, err
		}
	}
	for i := range p.r {
		p.stream[i].buf = make([]byte, PipeBuffer)
		p.ended.Go(func() { p.readStream(i) })
	}
	return p, nil
}

// readStream brings one pipe to the spool until it is closed.
func (p *Pipes) readStream(i int) {
	raw, err := p.r[i].SyscallConn()
	if err != nil {
		return
	}
	for p.waitRoom() {
		over := false
		err := raw.Read(func(fd uintptr) bool {
			n, err := p.readOnce(i, int(fd), false)
			over = n == 0 && err == nil
			return !errors.Is(err, unix.EAGAIN)
		})
		if err != nil || over {
			return
		}
	}
}

// readOnce reads once, without waiting, and adds what it got.
func (p *Pipes) readOnce(i int, fd int, draining bool) (int, error) {
	st := &p.stream[i]
	st.mu.Lock()
	defer st.mu.Unlock()
	if p.paused.Load() && !draining {
		return 0, unix.EAGAIN
	}
	for {
		n, err := unix.Read(fd, st.buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n > 0 {
			p.spool.addOutput(i+1, st.buf[:n])
		}
		return n, err
	}
}

// waitRoom waits until there is room in the spool; false if reading is over. The
// program then waits too, as soon as its pipe is full.
func (p *Pipes) waitRoom() bool {
	for {
		room, full := p.spool.isFull()
		if !full {
			return true
		}
		select {
		case <-p.stop:
			return false
		case <-room:
		case <-time.After(200 * time.Millisecond): // the disk may have room again
			p.spool.FlushMemory()
		}
	}
}

// DrainPipes adds all that has been written so far, however full the spool is. With
// the program standing still the spool then has exactly what it wrote.
func (p *Pipes) DrainPipes() error {
	for i, r := range p.r {
		if r == nil {
			continue
		}
		raw, err := r.SyscallConn()
		if err != nil {
			return err
		}
		var readErr error
		err = raw.Control(func(fd uintptr) {
			n := 1
			for n > 0 && readErr == nil {
				n, readErr = p.readOnce(i, int(fd), true)
			}
		})
		if readErr != nil && !errors.Is(readErr, unix.EAGAIN) {
			return fmt.Errorf("reading the output: %w", readErr)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// PauseReading makes the readers leave alone what comes from now on: a program that is
// being stopped says it again where it is continued.
func (p *Pipes) PauseReading() { p.paused.Store(true) }

// ResumeReading undoes pause.
func (p *Pipes) ResumeReading() {
	if p.paused.Swap(false) {
		_ = p.DrainPipes() // the readers were not told of what came meanwhile; an error they will see themselves
	}
}

// FinishReading takes what is left once no process writes any more, and closes the
// pipes. It does not wait for whoever may still hold one open.
func (p *Pipes) FinishReading() {
	_ = p.DrainPipes() // an error leaves nothing to be read
	p.ClosePipes()
}

func (p *Pipes) ClosePipes() {
	close(p.stop)
	for i := range p.r {
		if p.r[i] != nil {
			_ = p.Writers[i].Close()
			_ = p.r[i].Close() // ends the reader
		}
	}
	p.ended.Wait()
}
