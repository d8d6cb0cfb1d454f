package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
)

// asStoppedBroker makes this program a broker that answers every request, at the
// socket that the variable names.
const asStoppedBroker = "GODWIT_TEST_BROKER_SOCKET"

func TestMain(m *testing.M) {
	if socket := os.Getenv(asStoppedBroker); socket != "" {
		l, err := net.Listen("unix", socket)
		if err != nil {
			os.Exit(1)
		}
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestTheUserIsToldOfABrokerThatIsStopped(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	broker := exec.Command(os.Args[0])
	broker.Env = append(os.Environ(), asStoppedBroker+"="+socket)
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = broker.Process.Kill()
		_ = broker.Wait()
	})
	c := DialBroker(socket)
	defer c.Close()
	told := make(chan *SilentError, 8)
	c.OnSilence(0, func(e *SilentError) { told <- e })
	clocktest.WaitFor(t, "an answer", func() bool { _, err := c.PingBroker(t.Context()); return err == nil })
	if err := broker.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	clocktest.WaitFor(t, "the broker to stop", func() bool { return isStopped(broker.Process.Pid) })
	answer := make(chan error, 1)
	go func() {
		_, err := c.PingBroker(context.Background())
		answer <- err
	}()
	e := <-told
	if e == nil || !e.Stopped || e.PID != broker.Process.Pid {
		t.Errorf("told %v of process %d", e, broker.Process.Pid)
	}
	if err := broker.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := <-answer; err != nil {
		t.Error(err)
	}
}

func TestABrokerThatDoesNotAnswerIsGivenUp(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket) // connections are made, and nobody takes them
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c := DialBroker(socket)
	defer c.Close()
	c.OnSilence(time.Second, func(*SilentError) {})
	for name, ask := range map[string]func() error{
		"a question": func() error { _, err := c.PingBroker(t.Context()); return err },
		"an order":   func() error { _, err := c.CancelJob(t.Context(), "1"); return err },
	} {
		var silent *SilentError
		if err := ask(); !errors.As(err, &silent) || silent.PID != os.Getpid() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A cancellation may take minutes: as long as the broker shows signs of life there is
// no limit.
func TestARequestThatTakesLongIsNotGivenUpWhileTheBrokerAnswers(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	pings := make(chan struct{}, 100)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/ping" {
			close(begun)
			<-release
		} else {
			pings <- struct{}{}
		}
		_, _ = w.Write([]byte("{}"))
	})
	c.OnSilence(time.Minute, func(e *SilentError) { t.Errorf("told %v", e) })
	done := make(chan error, 1)
	go func() {
		_, err := c.CancelJob(context.Background(), "1")
		done <- err
	}()
	<-begun
	<-pings
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
