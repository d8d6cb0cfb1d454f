package agent

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/agent/save"
	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// refusing is the way to a depot that, as long as refuses is set, answers with
// that status whatever it is given.
type refusing struct {
	*http.Transport
	refuses *atomic.Int32
}

func (r *refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	status := int(r.refuses.Load())
	if status == 0 || !strings.HasSuffix(req.URL.Path, "/put") {
		return r.Transport.RoundTrip(req)
	}
	if err := req.Body.Close(); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status),
		Body: io.NopCloser(strings.NewReader("no room here")), Request: req}, nil
}

// throughTransport has the agent reach the depot through a transport of the test's own.
func (h *harness) throughTransport(wrap func(*http.Transport) http.RoundTripper) {
	h.around.depot = func(socket string) brokerDepot {
		t := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}}
		return depot.NewClient(&http.Client{Transport: wrap(t)}, "http://broker"+wire.Depot)
	}
}

// refuse has the depot answer with a status to what is put there; 0: it takes it.
func (h *harness) refuse(status int32) *atomic.Int32 {
	refuses := &atomic.Int32{}
	refuses.Store(status)
	h.throughTransport(func(t *http.Transport) http.RoundTripper { return &refusing{t, refuses} })
	return refuses
}

// unreachedDepot is the way to a depot that tells when a request finds nobody there.
type unreachedDepot struct {
	*http.Transport
	failed func()
}

func (f *unreachedDepot) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, err := f.Transport.RoundTrip(req)
	if err != nil {
		f.failed()
	}
	return answer, err
}

// whenUnreached is closed when the agent has asked the depot in vain.
func (h *harness) whenUnreached() <-chan struct{} {
	unreached := make(chan struct{})
	failed := sync.OnceFunc(func() { close(unreached) })
	h.throughTransport(func(t *http.Transport) http.RoundTripper { return &unreachedDepot{t, failed} })
	return unreached
}

// untilNoted waits until explain would say why the result waits.
func (h *harness) untilNoted() {
	h.t.Helper()
	h.until("what it waits for", func() bool {
		for _, m := range h.messages {
			if m.Kind == wire.Ended || m.Kind == wire.Note && m.Entry.Kind == "results" &&
				strings.Contains(m.Entry.Why, "no room here") {
				return true
			}
		}
		return false
	})
	if list := h.endings(); len(list) > 0 {
		h.t.Fatalf("it told its end without its result: %s", kinds(list))
	}
}

func TestAResultThatTheDepotCannotTakeNowIsBroughtLater(t *testing.T) {
	for _, status := range []int32{http.StatusInsufficientStorage, http.StatusInternalServerError} {
		h := newHarness(t, "/bin/sh", "-c", "echo made >file")
		refuses := h.refuse(status)
		h.start()
		h.begin()
		h.untilNoted()
		refuses.Store(0)
		h.wait()
		m := h.ended()
		if m.Kind != wire.Ended || m.Code != 0 || m.Result == "" {
			t.Fatalf("status %d: told %+v", status, m)
		}
		if text, err := os.ReadFile(filepath.Join(h.fetch(m.Result), "file")); err != nil || string(text) != "made\n" {
			t.Errorf("status %d: the result holds %q, %v", status, text, err)
		}
		if notes := h.all(wire.Note); count(notes, wire.Note) > 2 { // the method, and that it waits
			t.Errorf("noted %s", kinds(notes))
		}
	}
}

func TestAResultThatNobodyTakesDoesNotKeepAJobFromBeingCancelled(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "echo made >file")
	h.refuse(http.StatusInsufficientStorage)
	h.start()
	h.begin()
	h.untilNoted()
	h.order(wire.Order{Kind: wire.Kill})
	h.wait()
	if list := h.endings(); len(list) > 0 {
		t.Errorf("told %s", kinds(list))
	}
}

func TestAResultThatTheDepotWillNeverTakeIsGivenUp(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "echo made >file")
	h.refuse(http.StatusRequestEntityTooLarge)
	h.run()
	if m := h.ended(); m.Kind != wire.Ended || m.Result != "" || !strings.Contains(m.Why, "no room here") {
		t.Errorf("told %+v", m)
	}
}

// The disk has room for how the program ended, not for what it wrote at last: an
// agent that takes over must not tell the one without the other.
func TestTheEndIsNotRememberedWithoutTheOutputBeforeIt(t *testing.T) {
	aside := t.TempDir()
	text := strings.Repeat("0123456789abcde\n", 2000) // one write, in many pages
	if err := os.WriteFile(filepath.Join(aside, "text"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHarness(t, "/bin/sh", "-c",
		`echo begin; while ! [ -e "$1/go" ]; do sleep 0.01; done; cat "$1/text"`, "sh", aside)
	if err := unix.Mount("tmpfs", h.dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("only root may mount: ", err)
	}
	defer unix.Unmount(h.dir, unix.MNT_DETACH)
	h.write()
	log := filepath.Join(aside, "log")
	t.Setenv(withLog, log)
	agent := h.spawn()
	clocktest.WaitFor(t, "output", func() bool {
		list, _ := filepath.Glob(filepath.Join(h.dir, "out", "1.*"))
		return len(list) == 1 && sizeOf(list[0]) == int64(len("begin\n"))
	})
	filler := filepath.Join(h.dir, "filler")
	const free = 12 << 10
	left, err := save.FreeSpace(h.dir)
	if err == nil {
		err = os.WriteFile(filler, make([]byte, left-free), 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(aside, "go"), nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	clocktest.WaitFor(t, "an agent that cannot write down the end of the program", func() bool {
		text, _ := os.ReadFile(log) // it is there when something was logged
		return strings.Contains(string(text), "not remembered yet")
	})
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	clocktest.WaitFor(t, "exit.json", func() bool { return sizeOf(filepath.Join(h.dir, exitFile)) > 0 })
	_ = agent.Process.Kill()
	_ = agent.Wait()
	h.start()
	if err := h.spawn().Wait(); err != nil {
		t.Fatal(err)
	}
	if m := h.ended(); m.Kind != wire.Ended || m.Code != 0 || h.output(1) != "begin\n"+text {
		t.Errorf("told %+v after %d bytes of output, of %d", m, len(h.output(1)), len("begin\n"+text))
	}
}

// sizeOf is the size of a file; -1: there is none.
func sizeOf(name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		return -1
	}
	return info.Size()
}
