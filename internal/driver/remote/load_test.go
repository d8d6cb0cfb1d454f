package remote_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver/remote/sshdtest"
)

// sshMaster opens a connection by hand, as a user would; the function ends it.
func sshMaster(t *testing.T, s *sshdtest.Server, path string) func() {
	t.Helper()
	cmd := exec.Command("ssh", slices.Concat(s.ClientOptions(), []string{"-N", "-M", "-S", path, s.Host()})...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	clocktest.WaitFor(t, "the connection by hand", func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// echo is a broker that says what it hears, and swallows what begins with S.
func echo(t testing.TB, socket string) {
	t.Helper()
	_ = os.Remove(socket)
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var tasks sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); tasks.Wait() })
	tasks.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			tasks.Go(func() {
				defer func() { _ = c.Close() }()
				kind := make([]byte, 1)
				if _, err := io.ReadFull(c, kind); err != nil {
					return
				}
				if kind[0] != 'S' {
					_, _ = io.Copy(c, c)
					return
				}
				sum := sha256.New()
				_, _ = io.Copy(sum, c)
				_, _ = c.Write(sum.Sum(nil))
			})
		}
	})
}

// agentDoor is the socket at the other end.
func (w *world) agentDoor() string { return filepath.Join(w.place(), "broker.sock") }

// pour sends so many bytes to the broker as an agent would.
func pour(socket string, size int) error {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	sum, block := sha256.New(), bytes.Repeat([]byte("0123456789abcdef"), 4096)
	if _, err := c.Write([]byte{'S'}); err != nil {
		return err
	}
	for sent := 0; sent < size; sent += len(block) {
		block[0] = byte(sent >> 16)
		_, _ = sum.Write(block)
		if _, err := c.Write(block); err != nil {
			return err
		}
	}
	if err := c.(*net.UnixConn).CloseWrite(); err != nil {
		return err
	}
	got, err := io.ReadAll(c)
	if err == nil && !bytes.Equal(got, sum.Sum(nil)) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// Two hundred agents are connected and a large checkpoint is on its way: still
// every request is answered, and what agents say comes through.
func TestManyAgentsAndALargeCheckpointDoNotStarveRequests(t *testing.T) {
	w := newWorld(t, sshdtest.Start(t))
	d := w.open()
	w.Broker.SetDeaf(true)
	echo(t, w.Broker.Socket)
	var agents []net.Conn
	for range 200 {
		c, err := net.Dial("unix", w.agentDoor())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		agents = append(agents, c)
	}
	var pouring sync.WaitGroup
	done := make(chan struct{})
	pouring.Go(func() {
		defer close(done)
		if err := pour(w.agentDoor(), 128<<20); err != nil {
			t.Error(err)
		}
	})
	var slowest time.Duration
	n := 0
	for busy := true; busy; n++ {
		select {
		case <-done:
			busy = false
		default:
		}
		began := time.Now()
		if _, err := d.MeasureLoad(t.Context()); err != nil {
			t.Error(err)
		}
		slowest = max(slowest, time.Since(began))
		c := agents[n%len(agents)]
		if _, err := c.Write([]byte("still here")); err != nil {
			t.Fatal(err)
		}
		want := 10
		if n < len(agents) {
			want = 9 // the first letter says what the connection is for
		}
		if _, err := io.ReadFull(c, make([]byte, want)); err != nil {
			t.Fatal(err)
		}
	}
	pouring.Wait()
	t.Logf("%d requests, the slowest took %v", n, slowest)
}

// BenchmarkThroughput compares what an agent can send to the broker with what
// ssh itself carries.
func BenchmarkThroughput(b *testing.B) {
	const size = 256 << 20
	sshd := sshdtest.Start(b)
	b.Run("ssh", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			cmd := exec.Command("ssh", slices.Concat(sshd.ClientOptions(),
				[]string{sshd.Host(), "head -c 268435456 /dev/zero"})...)
			cmd.Stdout = io.Discard
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("outpost", func(b *testing.B) {
		w := newWorld(b, sshd)
		w.open()
		w.Broker.SetDeaf(true)
		echo(b, w.Broker.Socket)
		b.SetBytes(size)
		for b.Loop() {
			if err := pour(w.agentDoor(), size); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRequest is how long one request takes.
func BenchmarkRequest(b *testing.B) {
	w := newWorld(b, sshdtest.Start(b))
	d := w.open()
	for b.Loop() {
		if _, err := d.MeasureLoad(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
