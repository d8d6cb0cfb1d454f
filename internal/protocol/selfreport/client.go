package selfreport

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// writeTimeout is how long a program may be kept from its work by an agent that stands still. Lines
// are short, so that the kernel takes them at once.
const writeTimeout = 100 * time.Millisecond

// ErrNoAgent is what SendMessage returns when nobody is there, which is no fault of the program.
var ErrNoAgent = errors.New("no agent listens")

// RefusedError is why the agent does not take a message.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

// appendLine adds a line to the file that is there instead of a socket; false: there is none.
func appendLine(path string, line []byte) (bool, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false, nil //nolint:nilerr // then it is the socket
	}
	_, err = f.Write(append(line, '\n')) // in one piece
	return true, errors.Join(err, f.Close())
}

// SendMessage says something through the socket of a folder, and waits so long for the answer; 0: not
// at all. In the sandbox there is none: it is said when the agent looks next.
func SendMessage(dir string, m Message, wait time.Duration) error {
	m.Version = MessageVersion
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(line) >= MaxLine {
		return &RefusedError{fmt.Sprintf("it is longer than %d bytes", MaxLine)}
	}
	if written, err := appendLine(filepath.Join(dir, MessagesFile), line); written {
		return err
	}
	now := clock.RealClock()
	d := net.Dialer{Timeout: writeTimeout}
	c, err := d.Dial("unix", filepath.Join(dir, SocketFile))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoAgent, err)
	}
	defer c.Close() //nolint:errcheck // all is said
	_ = c.SetDeadline(now().Add(writeTimeout))
	if _, err := c.Write(append(line, '\n')); err != nil || wait <= 0 {
		return err
	}
	_ = c.SetDeadline(now().Add(wait))
	text, err := bufio.NewReaderSize(c, MaxLine).ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("%w: it does not answer: %w", ErrNoAgent, err)
	}
	var reply Reply
	if err := json.Unmarshal(text, &reply); err != nil {
		return fmt.Errorf("its answer is not understood: %w", err)
	}
	if !reply.OK {
		return &RefusedError{reply.Error}
	}
	return nil
}
