package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/protocol/selfreport"
)

// Bounds of what a program may do with its socket. What is above them waits, or is refused: it is never
// kept.
const (
	maxConnections = 16               // at once
	idleTimeout    = 30 * time.Second // until the next line, or until an answer is read
	maxTexts       = 200              // messages and phases of an attempt that are shown
	linesPerSecond = 100              // of all connections together
	lineBurst      = 200
)

// Bounds of what is read of the file that is there instead of the socket.
const (
	maxFileRead = 64 << 10 // at once
	maxFileSize = 1 << 20  // altogether
)

// maxSocketPath is what fits into the address of a socket.
const maxSocketPath = 107

// Listener answers what the program says through the socket of its folder.
type Listener struct {
	folder *Folder
	now    clock.Clock
	show   func(selfreport.Message) // told of a message, or of a phase that begins
	socket *net.UnixListener
	group  sync.WaitGroup
	slots  chan struct{}
	ended  chan struct{}

	fileRead int64 // how much of the messages file; of who calls ReadMessages

	lines sync.Mutex // one line is taken at a time
	texts int
	pace  pace

	mu    sync.Mutex // of the connections
	conns map[net.Conn]bool
	over  bool
}

// Listen opens the socket of a folder. What is to be shown is handed to show, by the goroutine of each connection; it
// must not wait any more once Close is called.
func (f *Folder) Listen(now clock.Clock, show func(selfreport.Message)) (*Listener, error) {
	if f == nil {
		return nil, errors.New("there is no folder")
	}
	path := filepath.Join(f.dir, selfreport.SocketFile)
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path of the socket is longer than %d bytes: %s", maxSocketPath, path)
	}
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	socket.SetUnlinkOnClose(false) // it goes with the folder
	l := &Listener{folder: f, now: now, show: show, socket: socket, slots: make(chan struct{}, maxConnections),
		ended: make(chan struct{}), conns: map[net.Conn]bool{}}
	l.group.Go(l.acceptAll)
	return l, nil
}

// Close ends the listening and all connections. A nil Listener listens to nobody.
func (l *Listener) Close() {
	if l == nil {
		return
	}
	close(l.ended)
	_ = l.socket.Close() // nothing is waiting to be written
	l.mu.Lock()
	l.over = true
	for c := range l.conns { // order-free: all are closed
		_ = c.Close()
	}
	l.mu.Unlock()
	l.group.Wait()
}

func (l *Listener) acceptAll() {
	for {
		select {
		case l.slots <- struct{}{}: // others wait in the kernel, which keeps few
		case <-l.ended:
			return
		}
		c, err := l.socket.Accept()
		if err != nil {
			if !l.pause(time.Second / 10) { // of files, say, there may be more later
				return
			}
			<-l.slots
			continue
		}
		l.group.Go(func() {
			defer func() { <-l.slots }()
			if l.enter(c) {
				l.serveConn(c)
				l.leave(c)
			}
		})
	}
}

// pause waits, or until all is over: then it reports false.
func (l *Listener) pause(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
		return true
	case <-l.ended:
		return false
	}
}

func (l *Listener) enter(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		_ = c.Close() // nothing was said
		return false
	}
	l.conns[c] = true
	return true
}

func (l *Listener) leave(c net.Conn) {
	_ = c.Close() // what was to be said is said
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// serveConn answers one line after the other, until there are no more.
func (l *Listener) serveConn(c net.Conn) {
	lines := bufio.NewReaderSize(c, selfreport.MaxLine)
	for {
		_ = c.SetDeadline(l.now().Add(idleTimeout)) // the only error is that it is closed
		line, err := lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return // nobody is there, or what came is no whole line
		}
		reply := selfreport.Reply{Version: selfreport.MessageVersion, OK: true}
		long := err != nil
		if long {
			err = fmt.Errorf("a line has at most %d bytes", selfreport.MaxLine)
		} else {
			err = l.takeLine(line, l.show)
		}
		if err != nil {
			reply.OK, reply.Error = false, selfreport.CleanText(err.Error(), selfreport.MaxText)
		}
		text, err := json.Marshal(reply)
		if err != nil {
			return
		}
		// Who does not wait for the answer has said it all the same.
		if _, err := c.Write(append(text, '\n')); err != nil && lines.Buffered() == 0 || long {
			return
		}
		if !l.pause(l.delayNext()) {
			return
		}
	}
}

// ReadMessages takes what a program that cannot use the socket has written to the file since the last time. What makes
// no sense is left out: nobody waits for an answer. Who calls it is shown them, before it returns.
func (l *Listener) ReadMessages(show func(selfreport.Message)) {
	if l == nil || l.fileRead >= maxFileSize {
		return
	}
	f, err := openRegular(filepath.Join(l.folder.dir, selfreport.MessagesFile), os.O_RDONLY)
	if err != nil {
		return
	}
	defer f.Close() //nolint:errcheck // only read
	text := make([]byte, maxFileRead)
	n, _ := f.ReadAt(text, l.fileRead) // what is missing is not there yet
	for line := range bytes.Lines(text[:n]) {
		if !bytes.HasSuffix(line, []byte("\n")) && len(line) < selfreport.MaxLine {
			return // it is being written
		}
		l.fileRead += int64(len(line))
		_ = l.takeLine(line, show)
	}
}

// takeLine does what a line says.
func (l *Listener) takeLine(line []byte, show func(selfreport.Message)) error {
	m, err := selfreport.ParseMessage(line)
	if err != nil {
		return err
	}
	if shown, err := l.countLine(&m); !shown || err != nil {
		return err
	}
	show(m)
	return nil
}

// countLine writes progress to the page, and says whether the line is one to be shown.
func (l *Listener) countLine(m *selfreport.Message) (shown bool, err error) {
	l.lines.Lock()
	defer l.lines.Unlock()
	if m.Kind == selfreport.MessageProgress {
		l.folder.setSteps(m.Done, m.All)
		return false, nil
	}
	if l.texts++; l.texts > maxTexts {
		l.texts = maxTexts + 1
		return false, fmt.Errorf("more than %d messages and phases: this one is not shown", maxTexts)
	}
	return true, nil
}

// delayNext is how long the next line has to wait, so that a program that never stops talking takes
// nothing from others.
func (l *Listener) delayNext() time.Duration {
	l.lines.Lock()
	defer l.lines.Unlock()
	return l.pace.delayNext(l.now())
}

// pace is how fast something comes: linesPerSecond after the first lineBurst.
type pace struct{ due time.Time }

func (p *pace) delayNext(now time.Time) time.Duration {
	const each = time.Second / linesPerSecond
	if earliest := now.Add(-lineBurst * each); p.due.Before(earliest) {
		p.due = earliest
	}
	p.due = p.due.Add(each)
	return p.due.Sub(now)
}

// setSteps writes progress that came through the socket to where the program would have written it.
func (f *Folder) setSteps(done, all uint64) {
	var field [8]byte
	if n, _ := f.page.ReadAt(field[:], selfreport.StepsAllAt); n < len(field) || selfreport.FieldValue(field[:]) != all {
		f.setField(selfreport.StepsDoneAt, 0) // never the steps of the one with the number of the other
		f.setField(selfreport.StepsAllAt, all)
	}
	f.setField(selfreport.StepsDoneAt, done)
}
