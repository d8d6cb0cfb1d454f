// Package rendezvous is how an agent finds its way to the broker, both ends of it: by
// a Unix socket on the same machine, or by TLS to an address that a file, the
// rendezvous, names. The file lies where only the user can read it; it pins the
// certificate and holds a token, so that neither side takes a stranger for the
// other. It is read again at every try: whoever listens may have moved.
// The package must not know what is said over the connection.
package rendezvous

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Rendezvous is what the file says.
type Rendezvous struct {
	Addresses   []string `json:"addresses"`   // host:port, tried in this order
	Certificate string   `json:"certificate"` // sha256 of its DER form, in hex
	Token       string   `json:"token"`       // 32 bytes in hex
}

const (
	tokenSize = 32
	// maxAddresses is more than any machine has: it is tried to reach them all.
	maxAddresses = 1000
	// maxRendezvous bounds what is read of a file that somebody may have replaced.
	maxRendezvous = 64 << 10
	// dialTimeout is how long all addresses together are tried, addressInterval when
	// the next is tried beside those that have not answered.
	dialTimeout     = 8 * time.Second
	addressInterval = 200 * time.Millisecond
	// A connection over which nothing comes back is given up after about so long:
	// whoever listened may be elsewhere by then.
	silenceTimeout = 15 * time.Second
)

// DialBroker connects to the broker: where is the path of a Unix socket, or of a
// rendezvous, whose name ends in .json.
func DialBroker(ctx context.Context, where string) (net.Conn, error) {
	var d net.Dialer
	if !strings.HasSuffix(where, ".json") {
		return d.DialContext(ctx, "unix", where)
	}
	r, err := ReadFile(where)
	if err != nil {
		return nil, err
	}
	return r.DialOwner(ctx)
}

// DialOwner connects to whoever gave out the rendezvous.
func (r *Rendezvous) DialOwner(ctx context.Context) (net.Conn, error) {
	if err := r.CheckFields(); err != nil {
		return nil, err
	}
	c, err := r.dialAny(ctx)
	if err != nil {
		return nil, err
	}
	token, _ := hex.DecodeString(r.Token)
	if _, err := c.Write(token); err != nil {
		_ = c.Close() // nothing was said yet
		return nil, err
	}
	return c, nil
}

// dialAny tries one address after the other, the next also while one before it
// does not answer: of the addresses of a machine with many, some lead nowhere.
func (r *Rendezvous) dialAny(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result)
	tried, failed := 0, 0
	next := func() {
		address := r.Addresses[tried]
		tried++
		go func() {
			c, err := r.dialAddress(ctx, address)
			results <- result{c, err}
		}()
	}
	next()
	var won net.Conn
	var errs []error
	patience := time.NewTicker(addressInterval)
	defer patience.Stop()
	for failed < tried {
		select {
		case <-patience.C:
			if tried < len(r.Addresses) && won == nil {
				next()
			}
		case got := <-results:
			failed++
			switch {
			case got.err != nil && won == nil:
				errs = append(errs, got.err)
				if tried < len(r.Addresses) && ctx.Err() == nil {
					next()
				}
			case got.err == nil && won == nil:
				won = got.conn
				cancel() // the others need not go on
			case got.err == nil:
				_ = got.conn.Close()
			}
		}
	}
	if won != nil {
		return won, nil
	}
	return nil, errors.Join(errs...)
}

// ReadFile reads a rendezvous.
func ReadFile(file string) (*Rendezvous, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxRendezvous+1))
	_ = f.Close() // only read
	if err != nil {
		return nil, err
	}
	r, err := parseRendezvous(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

func parseRendezvous(text []byte) (*Rendezvous, error) {
	if len(text) > maxRendezvous {
		return nil, errors.New("too long for a rendezvous")
	}
	r := new(Rendezvous)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, err
	}
	if err := r.CheckFields(); err != nil {
		return nil, err
	}
	return r, nil
}

// CheckFields says what is wrong with a rendezvous, from wherever it comes.
func (r *Rendezvous) CheckFields() error {
	if pin, err := hex.DecodeString(r.Certificate); err != nil || len(pin) != sha256.Size {
		return errors.New("certificate is no sha256 in hex")
	}
	if token, err := hex.DecodeString(r.Token); err != nil || len(token) != tokenSize {
		return errors.New("token is not of 32 bytes in hex")
	}
	if len(r.Addresses) == 0 || len(r.Addresses) > maxAddresses {
		return fmt.Errorf("%d addresses, expected 1 to %d", len(r.Addresses), maxAddresses)
	}
	return nil
}

func (r *Rendezvous) dialAddress(ctx context.Context, address string) (net.Conn, error) {
	pin, _ := hex.DecodeString(r.Certificate)
	d := &tls.Dialer{NetDialer: &net.Dialer{KeepAliveConfig: keepAlive(), Control: giveUp}, Config: &tls.Config{
		MinVersion: tls.VersionTLS13,
		// The pin below says more than any authority could.
		InsecureSkipVerify: true, // see VerifyPeerCertificate
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			if len(raw) > 0 {
				if got := sha256.Sum256(raw[0]); subtle.ConstantTimeCompare(got[:], pin) == 1 {
					return nil
				}
			}
			return errors.New("the certificate is not the one that was named")
		},
	}}
	return d.DialContext(ctx, "tcp", address)
}

// keepAlive has the other end asked for a sign of life when nothing is said.
func keepAlive() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: silenceTimeout / 3, Interval: silenceTimeout / 3, Count: 2}
}

// giveUp has what is said given up when the other end does not take it.
func giveUp(_, _ string, raw syscall.RawConn) error {
	return raw.Control(func(fd uintptr) {
		// Without it the connection is only given up later.
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silenceTimeout.Milliseconds()))
	})
}
