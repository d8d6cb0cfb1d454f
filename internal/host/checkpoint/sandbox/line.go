package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// What goes over the socket to the supervisor and back, one JSON object a line.
// The other side is sandbox/supervise.go.
type (
	order struct {
		Number int    `json:"number"`
		Do     string `json:"do"`
		Dir    string `json:"dir,omitempty"`
	}
	message struct {
		Number int          `json:"number,omitempty"` // of the order this answers; 0: an event
		Error  string       `json:"error,omitempty"`
		Files  *usedNames   `json:"files,omitempty"`
		Denied *deniedNames `json:"denied,omitempty"`

		Running *runningEvent `json:"running,omitempty"`
		Failed  string        `json:"failed,omitempty"`
		Ended   *endedEvent   `json:"ended,omitempty"`
	}
	runningEvent struct {
		Sentry int `json:"sentry"` // the process that holds the program
		Gofer  int `json:"gofer"`
	}
	endedEvent struct {
		Status uint32        `json:"status"` // as wait(2) gives it
		Lost   bool          `json:"lost"`
		Why    string        `json:"why"`
		CPU    time.Duration `json:"cpu"` // of everything; 0 if not known
		Denied *deniedNames  `json:"denied"`
	}
	// usedNames are the files a program uses, by their names inside.
	usedNames struct {
		Mapped []string `json:"mapped"`
		Open   []string `json:"open"`
	}
)

// maxMessage bounds one line: the names of all files a program has open.
const maxMessage = 16 << 20

// errGone is the answer to an order when the supervisor is gone.
var errGone = errors.New("the sandbox is gone")

// line is our end of the socket.
type line struct {
	conn   net.Conn
	closed chan struct{} // no more messages come

	mu      sync.Mutex
	next    int
	waiting map[int]chan message
}

// newLine makes a socket and the file for the other end of it.
func newLine() (*line, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making a socket: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "orders"), os.NewFile(uintptr(fds[1]), "orders")
	conn, err := net.FileConn(ours)
	_ = ours.Close() // conn has a descriptor of its own
	if err != nil {
		_ = theirs.Close()
		return nil, nil, fmt.Errorf("making a socket: %w", err)
	}
	return &line{conn: conn, closed: make(chan struct{}), waiting: map[int]chan message{}}, theirs, nil
}

// readMessages hands answers to whoever waits for them and events to event, until the
// other side is gone or talks nonsense.
func (l *line) readMessages(event func(message)) {
	defer close(l.closed)
	in := bufio.NewReader(l.conn)
	for {
		m, err := readMessage(in)
		if err != nil {
			_ = l.conn.Close() // a supervisor that cannot be understood ends, and its program with it
			return
		}
		if m.Number == 0 {
			event(m)
			continue
		}
		l.mu.Lock()
		answer := l.waiting[m.Number]
		delete(l.waiting, m.Number)
		l.mu.Unlock()
		if answer != nil {
			answer <- m
		}
	}
}

// readMessage reads one line.
func readMessage(in *bufio.Reader) (message, error) {
	var text []byte
	for {
		part, err := in.ReadSlice('\n')
		text = append(text, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return message{}, err
		}
		if len(text) > maxMessage {
			return message{}, fmt.Errorf("a message of more than %d bytes", maxMessage)
		}
	}
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		return message{}, err
	}
	if m.Number < 0 {
		return message{}, fmt.Errorf("an answer to order %d", m.Number)
	}
	return m, nil
}

// sendOrder sends an order that has no answer.
func (l *line) sendOrder(do string) error {
	return writeOrder(l.conn, order{Do: do})
}

// sendAndWait sends an order and waits for its answer, however long it takes: the
// program stands still meanwhile, and nothing would be won by not waiting.
func (l *line) sendAndWait(o order) (message, error) {
	answer := make(chan message, 1)
	l.mu.Lock()
	l.next++
	o.Number = l.next
	l.waiting[o.Number] = answer
	err := writeOrder(l.conn, o)
	l.mu.Unlock()
	if err != nil {
		return message{}, errGone
	}
	select {
	case m := <-answer:
		if m.Error != "" {
			return m, errors.New(m.Error)
		}
		return m, nil
	case <-l.closed:
		return message{}, errGone
	}
}

// writeOrder sends one line.
func writeOrder(to io.Writer, o order) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = to.Write(append(text, '\n'))
	return err
}
