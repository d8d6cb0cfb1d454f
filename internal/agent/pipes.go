package agent

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// pipes are stdout and stderr of the program: what comes out of them goes to the
// spool, in order and whole.
type pipes struct {
	spool  *spool
	stop   chan struct{} // closed to end the readers
	ended  sync.WaitGroup
	r, w   [2]*os.File
	stream [2]reading
	paused atomic.Bool // only drain reads
}

// reading is one pipe. Who reads holds mu from before the read until the bytes
// are in the spool, so that after drain none is on the way between.
type reading struct {
	mu  sync.Mutex
	buf []byte
}

const pipeBuffer = 64 << 10

// openPipes makes the pipes and begins to read them.
func openPipes(s *spool) (*pipes, error) {
	p := &pipes{spool: s, stop: make(chan struct{})}
	for i := range p.r {
		var fd [2]int
		if err := unix.Pipe2(fd[:], unix.O_CLOEXEC); err != nil {
			p.closePipes()
			return nil, fmt.Errorf("making a pipe for the output: %w", err)
		}
		// Only our end does not block: the program gets an ordinary pipe.
		err := unix.SetNonblock(fd[0], true)
		p.r[i], p.w[i] = os.NewFile(uintptr(fd[0]), "output"), os.NewFile(uintptr(fd[1]), "output")
		if err != nil {
			p.closePipes()
			return nil, err
		}
	}
	for i := range p.r {
		p.stream[i].buf = make([]byte, pipeBuffer)
		p.ended.Go(func() { p.readStream(i) })
	}
	return p, nil
}

// readStream brings one pipe to the spool until it is closed.
func (p *pipes) readStream(i int) {
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
func (p *pipes) readOnce(i int, fd int, draining bool) (int, error) {
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
func (p *pipes) waitRoom() bool {
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
			p.spool.flushMemory()
		}
	}
}

// drainPipes adds all that has been written so far, however full the spool is. With
// the program standing still the spool then has exactly what it wrote.
func (p *pipes) drainPipes() error {
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

// pauseReading makes the readers leave alone what comes from now on: a program that is
// being stopped says it again where it is continued.
func (p *pipes) pauseReading() { p.paused.Store(true) }

// resumeReading undoes pause.
func (p *pipes) resumeReading() {
	if p.paused.Swap(false) {
		_ = p.drainPipes() // the readers were not told of what came meanwhile; an error they will see themselves
	}
}

// finishReading takes what is left once no process writes any more, and closes the
// pipes. It does not wait for whoever may still hold one open.
func (p *pipes) finishReading() {
	_ = p.drainPipes() // an error leaves nothing to be read
	p.closePipes()
}

func (p *pipes) closePipes() {
	close(p.stop)
	for i := range p.r {
		if p.r[i] != nil {
			_ = p.w[i].Close()
			_ = p.r[i].Close() // ends the reader
		}
	}
	p.ended.Wait()
}
