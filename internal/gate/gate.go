// Package gate is how an agent finds its way to the broker, both ends of it: by
// a Unix socket on the same machine, or by TLS to an address that a file, the
// rendezvous, names. The file lies where only the user can read it; it pins the
// certificate and holds a token, so that neither side takes a stranger for the
// other. It is read again at every try: whoever listens may have moved.
// The package must not know what is said over the connection.
package gate

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
	"net"
	"os"
	"strings"
	"time"
)

// Rendezvous is what the file says.
type Rendezvous struct {
	Addresses   []string `json:"addresses"`   // host:port, tried in this order
	Certificate string   `json:"certificate"` // sha256 of its DER form, in hex
	Token       string   `json:"token"`       // 32 bytes in hex
}

const (
	tokenSize = 32
	// maxRendezvous bounds what is read of a file that somebody may have replaced.
	maxRendezvous = 64 << 10
	// perAddress is how long one address is tried: there may be more of them.
	perAddress = 3 * time.Second
)

// Dial connects to the broker: where is the path of a Unix socket, or of a
// rendezvous, whose name ends in .json.
func Dial(ctx context.Context, where string) (net.Conn, error) {
	var d net.Dialer
	if !strings.HasSuffix(where, ".json") {
		return d.DialContext(ctx, "unix", where)
	}
	r, err := Read(where)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, address := range r.Addresses {
		c, err := r.dial(ctx, address)
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// Read reads a rendezvous.
func Read(file string) (*Rendezvous, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

func parse(text []byte) (*Rendezvous, error) {
	if len(text) > maxRendezvous {
		return nil, errors.New("too long for a rendezvous")
	}
	r := new(Rendezvous)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, err
	}
	if pin, err := hex.DecodeString(r.Certificate); err != nil || len(pin) != sha256.Size {
		return nil, errors.New("certificate is no sha256 in hex")
	}
	if token, err := hex.DecodeString(r.Token); err != nil || len(token) != tokenSize {
		return nil, errors.New("token is not of 32 bytes in hex")
	}
	if len(r.Addresses) == 0 {
		return nil, errors.New("no address")
	}
	return r, nil
}

func (r *Rendezvous) dial(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, perAddress)
	defer cancel()
	pin, _ := hex.DecodeString(r.Certificate)
	d := &tls.Dialer{Config: &tls.Config{
		MinVersion: tls.VersionTLS13,
		// The pin below says more than any authority could.
		InsecureSkipVerify: true, //nolint:gosec // see VerifyPeerCertificate
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			if len(raw) > 0 {
				if got := sha256.Sum256(raw[0]); subtle.ConstantTimeCompare(got[:], pin) == 1 {
					return nil
				}
			}
			return errors.New("the certificate is not the broker's")
		},
	}}
	c, err := d.DialContext(ctx, "tcp", address)
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
