package parallel

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// What is said to the rank server of another part: a line of JSON. A session lasts as long as the program of part 0 and
// ends with sessionEnd. To a request to run something the launcher adds its beat, and gets frames back: what was
// written, and at last the exit code.
type rankRequest struct {
	Session bool   `json:"session,omitempty"`
	Host    string `json:"host,omitempty"` // of the part
	Line    string `json:"line,omitempty"` // for a shell there
	Yield   bool   `json:"yield,omitempty"`
}

const (
	// maxRequest bounds a request: mpirun's line grows with what the user sets.
	maxRequest = 1 << 20
	// sessionEnd says that the program of part 0 has ended, rather than the connection.
	sessionEnd = "end\n"
)

var errBadRequest = errors.New("not a request of a launcher")

// writeTo sends a request.
func (q *rankRequest) writeTo(c io.Writer) error {
	text, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if len(text) >= maxRequest {
		return fmt.Errorf("%w: %d bytes, at most %d", errBadRequest, len(text), maxRequest)
	}
	_, err = c.Write(append(text, '\n'))
	return err
}

// readRequest reads a request, and nothing of what follows it.
func readRequest(c io.Reader) (*rankRequest, error) {
	var line []byte
	for one := make([]byte, 1); ; line = append(line, one[0]) {
		if _, err := io.ReadFull(c, one); err != nil {
			return nil, err
		}
		if one[0] == '\n' {
			break
		}
		if len(line) >= maxRequest {
			return nil, errBadRequest
		}
	}
	q := new(rankRequest)
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(q); err != nil {
		return nil, fmt.Errorf("%w: %w", errBadRequest, err)
	}
	if d.More() || q.Session == (q.Line != "") || q.Line != "" && !wire.IsHostName(q.Host) {
		return nil, errBadRequest
	}
	return q, nil
}

// The kinds of frames that a launcher gets back.
const (
	frameStdout = 'o'
	frameStderr = 'e'
	frameExit   = 'x' // its data is the exit code, in four bytes
)

// maxFrame bounds the data of a frame.
const maxFrame = 64 << 10

// frameWriter sends what is written to it as frames of one kind. Writers of one connection share the lock.
type frameWriter struct {
	kind byte
	conn net.Conn
	lock *sync.Mutex
}

func (w frameWriter) Write(p []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for rest := p; len(rest) > 0; {
		n := min(len(rest), maxFrame)
		frame := binary.BigEndian.AppendUint32([]byte{w.kind}, uint32(n))
		if _, err := w.conn.Write(append(frame, rest[:n]...)); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(p), nil
}

// readFrames hands on what is written until the exit code comes, which it returns.
func readFrames(c io.Reader, stdout, stderr io.Writer) (int, error) {
	var head [5]byte
	for {
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return 0, err
		}
		n := binary.BigEndian.Uint32(head[1:])
		if n > maxFrame {
			return 0, fmt.Errorf("a frame of %d bytes, at most %d", n, maxFrame)
		}
		data := make([]byte, n)
		if _, err := io.ReadFull(c, data); err != nil {
			return 0, err
		}
		switch {
		case head[0] == frameStdout:
			_, _ = stdout.Write(data) // who does not listen any more misses it
		case head[0] == frameStderr:
			_, _ = stderr.Write(data)
		case head[0] == frameExit && n == 4:
			return int(int32(binary.BigEndian.Uint32(data))), nil
		default:
			return 0, fmt.Errorf("a frame of an unknown kind, %q", head[0])
		}
	}
}
