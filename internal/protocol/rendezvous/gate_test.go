package rendezvous

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echoing is a gate whose connections say what they hear.
func echoing(t *testing.T, file string, change func(*Options)) (*Listener, *atomic.Int64) {
	t.Helper()
	met := new(atomic.Int64)
	o := Options{Rendezvous: file, Host: "127.0.0.1", Handle: func(c net.Conn) {
		met.Add(1)
		_, _ = io.Copy(c, c)
		_ = c.Close()
	}}
	if change != nil {
		change(&o)
	}
	g, err := OpenListener(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g, met
}

// says dials and hears what it says.
func says(t *testing.T, where string) error {
	t.Helper()
	c, err := DialBroker(t.Context(), where)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := c.Write([]byte("hello")); err != nil {
		return err
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if string(got) != "hello" {
		return fmt.Errorf("it says %q", got)
	}
	return nil
}

func change(t *testing.T, file string, f func(*Rendezvous)) {
	t.Helper()
	r, err := ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f(r)
	if err := r.writeFile(file); err != nil {
		t.Fatal(err)
	}
}

func TestWhoHasTheFileGetsIn(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "", "localhost"} {
		file := filepath.Join(t.TempDir(), "rendezvous.json")
		_, met := echoing(t, file, func(o *Options) { o.Host = host })
		if err := says(t, file); err != nil || met.Load() != 1 {
			t.Errorf("%q: %v, %d", host, err, met.Load())
		}
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info.Mode(), err)
		}
	}
}

func TestWhoHasTheWrongTokenDoesNot(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rendezvous.json")
	_, met := echoing(t, file, nil)
	change(t, file, func(r *Rendezvous) { r.Token = strings.Repeat("00", tokenSize) })
	if err := says(t, file); err == nil || met.Load() != 0 {
		t.Errorf("%v, %d", err, met.Load())
	}
}

func TestWhoShowsAnotherCertificateIsNotSpokenTo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rendezvous.json")
	_, met := echoing(t, file, nil)
	token := ""
	change(t, file, func(r *Rendezvous) { token, r.Certificate = r.Token, strings.Repeat("00", 32) })
	if err := says(t, file); err == nil || !strings.Contains(err.Error(), "not the one that was named") ||
		met.Load() != 0 {
		t.Errorf("%v, %d", err, met.Load())
	}
	// Nor does he get to see the token.
	cert, _, err := makeCertificate(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	// whatever a stranger has
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan []byte)
	go func() {
		c, err := l.Accept()
		if err == nil {
			_ = c.SetDeadline(time.Now().Add(30 * time.Second))
			got, _ := io.ReadAll(c)
			_ = c.Close()
			seen <- got
		}
	}()
	change(t, file, func(r *Rendezvous) { r.Addresses = []string{l.Addr().String()} })
	if err := says(t, file); err == nil {
		t.Error("a stranger is spoken to")
	}
	if got := <-seen; len(got) > 0 {
		t.Errorf("the stranger got %d bytes; the token is %s", len(got), token)
	}
	_ = l.Close()
}

func TestAnAgentFindsAGateThatMoved(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rendezvous.json")
	first, _ := echoing(t, file, nil)
	if err := says(t, file); err != nil {
		t.Fatal(err)
	}
	_ = first.Close()
	if err := says(t, file); err == nil {
		t.Error("nobody listens, yet somebody answers")
	}
	echoing(t, file, nil)
	if err := says(t, file); err != nil {
		t.Error(err)
	}
}

func TestARendezvousNeedNotBeAFile(t *testing.T) {
	g, met := echoing(t, "", nil)
	r := g.Rendezvous()
	c, err := r.DialOwner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	for _, bad := range []Rendezvous{{}, {Addresses: r.Addresses, Certificate: r.Certificate, Token: "00"},
		{Certificate: r.Certificate, Token: r.Token}} {
		if c, err := bad.DialOwner(t.Context()); err == nil {
			_ = c.Close()
			t.Errorf("%+v is dialled", bad)
		}
	}
	_ = g.Close()
	if met.Load() > 1 {
		t.Error("a stranger got in")
	}
}

func TestAddressesThatLeadNowhereArePassedOver(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rendezvous.json")
	echoing(t, file, nil)
	change(t, file, func(r *Rendezvous) {
		r.Addresses = append([]string{"127.0.0.1:1", "no.such.host.invalid:5", "nonsense"}, r.Addresses...)
	})
	if err := says(t, file); err != nil {
		t.Error(err)
	}
}

func TestPortsAreTakenFromARange(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	port := taken.Addr().(*net.TCPAddr).Port
	file := filepath.Join(t.TempDir(), "rendezvous.json")
	echoing(t, file, func(o *Options) { o.FirstPort, o.LastPort = port, min(port+50, 65535) })
	if err := says(t, file); err != nil {
		t.Error(err)
	}
	if _, err := OpenListener(t.Context(),
		Options{Rendezvous: file, Host: "127.0.0.1", FirstPort: port, LastPort: port}); err == nil {
		t.Error("a port was taken twice")
	}
}

func TestWhatAKilledOneLeftBesideTheRendezvousGoes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rendezvous.json")
	// as somebody else may have made it
	if err := os.WriteFile(file+".new", []byte(strings.Repeat("half of one", 1000)), 0o644); err != nil {
		t.Fatal(err)
	}
	echoing(t, file, nil)
	if err := says(t, file); err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("there is %q: %v", left, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v %v", info, err)
	}
}

// Whoever connects and says nothing, or nonsense, keeps nobody from getting in,
// and is gone when the gate closes.
func TestStrangersDoNotBlockTheGate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rendezvous.json")
	// It would let them stand there for an hour.
	late := func() time.Time { return time.Now().Add(time.Hour) }
	g, met := echoing(t, file, func(o *Options) { o.Clock = late })
	r, err := ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var silent []net.Conn
	for i := range 20 {
		c, err := net.Dial("tcp", r.Addresses[0])
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if i%2 == 0 {
			_, _ = c.Write([]byte("GET / HTTP/1.0\r\n\r\n"))
		}
		silent = append(silent, c)
	}
	if err := says(t, file); err != nil || met.Load() != 1 {
		t.Errorf("%v, %d", err, met.Load())
	}
	closed := make(chan struct{})
	go func() { _ = g.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Error("the gate waits for strangers")
		for _, c := range silent {
			_ = c.Close()
		}
		<-closed
	}
}

func TestAFileThatCannotBeWrittenIsAnError(t *testing.T) {
	if g, err := OpenListener(t.Context(),
		Options{Rendezvous: filepath.Join(t.TempDir(), "no", "such", "folder.json")}); err == nil {
		_ = g.Close()
		t.Error("it listens, and nobody knows")
	}
}

func TestUnixSockets(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			tasks.Go(func() { _, _ = io.Copy(c, c); _ = c.Close() })
		}
	})
	if err := says(t, socket); err != nil {
		t.Error(err)
	}
	// And through a gate before it, with a half that ends first.
	file := filepath.Join(t.TempDir(), "rendezvous.json")
	echoing(t, file, func(o *Options) { o.Handle = func(c net.Conn) { RelayToSocket(c, socket) } })
	if err := says(t, file); err != nil {
		t.Error(err)
	}
	c, err := DialBroker(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("0123456789"), 100_000)
	go func() {
		_, _ = c.Write(want)
		_ = c.(*tls.Conn).CloseWrite()
	}()
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d came back: %v", len(got), len(want), err)
	}
	_ = c.Close()
	_ = l.Close()
	tasks.Wait()
	if err := says(t, file); err == nil {
		t.Error("nobody is behind the gate, yet somebody answers")
	}
}

func TestADialThatIsWithdrawnReturns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rendezvous.json")
	l, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	r := Rendezvous{Addresses: []string{l.Addr().String(), l.Addr().String()}, Certificate: strings.Repeat("00", 32),
		Token: strings.Repeat("00", tokenSize)}
	if err := r.writeFile(file); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := DialBroker(ctx, file); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// FuzzRendezvous: whatever stands in the file, reading it does no harm, and what
// is taken is whole.
func FuzzRendezvous(f *testing.F) {
	good, err := json.Marshal(Rendezvous{Addresses: []string{"10.77.0.1:43117"}, Certificate: strings.Repeat("ab", 32),
		Token: strings.Repeat("cd", tokenSize)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"addresses":["x"],"certificate":"zz","token":""}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parseRendezvous(text)
		if err != nil {
			if r != nil {
				t.Error("both")
			}
			return
		}
		if len(r.Addresses) == 0 || len(r.Token) != 2*tokenSize || len(r.Certificate) != 64 {
			t.Errorf("%+v", r)
		}
	})
}
