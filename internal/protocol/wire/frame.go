package wire

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// MaxFrame is the largest frame, so that a length that is garbage cannot ask
// for all the memory there is.
const MaxFrame = 4 << 20

// MaxData is how many bytes of output one message carries at most.
const MaxData = 256 << 10

// Path and Protocol are what an agent asks the broker's socket for: a POST to
// Path that is to become a connection of Protocol. Depot is the path under which the depot
// is served on the same socket.
const (
	Path     = "/v1/agent"
	Protocol = "godwit-agent"
	Depot    = "/v1/depot/"
)

// ErrFrame says that what was read cannot be a frame: the connection is of no
// more use.
var ErrFrame = errors.New("not a frame")

// WriteFrame writes one message or order: four bytes of length, most significant
// first, and JSON. One call of Write, so that frames of callers who
// share a lock do not mix.
func WriteFrame(w io.Writer, v any) error {
	frame, err := AppendFrame(nil, v)
	if err != nil {
		return err
	}
	_, err = w.Write(frame)
	return err
}

// AppendFrame appends the frame of v to buf.
func AppendFrame(buf []byte, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return buf, fmt.Errorf("writing a frame: %w", err)
	}
	if len(text) > MaxFrame {
		return buf, fmt.Errorf("writing a frame of %d bytes, of at most %d: %w", len(text), MaxFrame, ErrFrame)
	}
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(text)))
	return append(buf, text...), nil
}

// ReadFrame reads one frame into v. At the end of the stream between two frames
// it returns io.EOF, within a frame io.ErrUnexpectedEOF, for what cannot be a
// frame an error that wraps ErrFrame.
func ReadFrame(r io.Reader, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > MaxFrame {
		return fmt.Errorf("%w: its length would be %d", ErrFrame, n)
	}
	text, err := readAll(r, int(n))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%w: %w", ErrFrame, err)
	}
	return nil
}

// readAll reads n bytes. It takes memory as they arrive, not as they are
// promised.
func readAll(r io.Reader, n int) ([]byte, error) {
	const step = 64 << 10
	text := make([]byte, 0, min(n, step))
	for len(text) < n {
		part := min(n-len(text), max(step, len(text)))
		had := len(text)
		text = append(text, make([]byte, part)...)
		if _, err := io.ReadFull(r, text[had:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return text, nil
}

// Conn is a connection after both sides agreed on the protocol. Reading goes through R:
// the first frames may have come with the answer.
type Conn struct {
	net.Conn
	R *bufio.Reader
}

// DialBroker connects an agent to the broker that listens on the Unix socket.
func DialBroker(ctx context.Context, socket string) (*Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	return UpgradeConn(ctx, c)
}

// UpgradeConn asks the broker at the other end of a connection to speak with an agent.
// If it does not the connection is closed.
func UpgradeConn(ctx context.Context, c net.Conn) (*Conn, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	conn, err := upgradeHandshake(c)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = c.Close() // nothing was sent that matters
		return nil, fmt.Errorf("asking the broker for %s: %w", Protocol, err)
	}
	return conn, nil
}

func upgradeHandshake(c net.Conn) (*Conn, error) {
	const ask = "POST " + Path + " HTTP/1.1\r\nHost: broker\r\nConnection: Upgrade\r\nUpgrade: " + Protocol +
		"\r\nContent-Length: 0\r\n\r\n"
	if _, err := io.WriteString(c, ask); err != nil {
		return nil, err
	}
	r := bufio.NewReader(c)
	answer, err := http.ReadResponse(r, &http.Request{Method: http.MethodPost})
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		_ = answer.Body.Close() // its text is of no use to an agent
		return nil, fmt.Errorf("the answer was %s", answer.Status)
	}
	return &Conn{Conn: c, R: r}, nil
}

// AcceptAgent is the broker's side of DialBroker. When it returns an error the request has
// been answered.
func AcceptAgent(w http.ResponseWriter, r *http.Request) (*Conn, error) {
	if r.Method != http.MethodPost || !strings.EqualFold(r.Header.Get("Upgrade"), Protocol) {
		w.Header().Set("Upgrade", Protocol)
		http.Error(w, "this is where agents connect; ask for "+Protocol, http.StatusUpgradeRequired)
		return nil, fmt.Errorf("a request that does not ask for %s", Protocol)
	}
	h, ok := w.(http.Hijacker)
	if !ok {
		http.Error(w, "this server cannot hand over a connection", http.StatusInternalServerError)
		return nil, errors.New("the connection cannot be taken over")
	}
	c, rw, err := h.Hijack()
	if err != nil {
		http.Error(w, "this connection cannot be handed over", http.StatusInternalServerError)
		return nil, err
	}
	_ = c.SetDeadline(time.Time{}) // the server's deadlines were those of a request
	const yes = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + Protocol + "\r\n\r\n"
	if _, err := io.WriteString(c, yes); err != nil {
		_ = c.Close()
		return nil, err
	}
	return &Conn{Conn: c, R: rw.Reader}, nil
}
