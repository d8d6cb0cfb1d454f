package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/protocol/selfreport"
)

// heard is a folder with its socket, and what was to be shown.
type heard struct {
	*testing.T
	folder *Folder
	ear    *Listener
	mu     sync.Mutex
	shown  []selfreport.Message
}

func listen(t *testing.T) *heard {
	t.Helper()
	h := &heard{T: t, folder: mustMake(t, selfreport.MemoryFolder, t.Name()+fmt.Sprint(time.Now().UnixNano()))}
	var err error
	h.ear, err = h.folder.Listen(clock.RealClock(), func(m selfreport.Message) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.shown = append(h.shown, m)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.ear.Close(); h.folder.Remove() })
	return h
}

func (h *heard) dial() net.Conn {
	h.Helper()
	c, err := net.Dial("unix", filepath.Join(h.folder.Path(), selfreport.SocketFile))
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = c.Close() })
	return c
}

// say writes a line and is the answer.
func (h *heard) say(c net.Conn, line string) selfreport.Reply {
	h.Helper()
	if _, err := c.Write([]byte(line + "\n")); err != nil {
		h.Fatal(err)
	}
	return h.answer(c)
}

func (h *heard) answer(c net.Conn) (r selfreport.Reply) {
	h.Helper()
	text, err := bufio.NewReader(c).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil || r.Version != 1 || r.OK == (r.Error != "") {
		h.Fatalf("the answer is %q, %v", text, err)
	}
	return r
}

func TestLinesAreTakenOneAfterTheOtherAndABadOneHarmsNone(t *testing.T) {
	h := listen(t)
	c := h.dial()
	for i, line := range []string{`{"v":1,"kind":"message","text":"hello"}`, `nonsense`,
		`{"v":1,"kind":"saved","number":3}`, `{"v":1,"kind":"progress","done":3,"of":10}`, `{"v":1,"kind":"phase","name":"solve"}`} {
		if r := h.say(c, line); r.OK != (i != 1 && i != 2) {
			t.Errorf("%s: %+v", line, r)
		}
	}
	if done, all := h.folder.ReadSteps(); done != 3 || all != 10 {
		t.Errorf("%v of %v steps", done, all)
	}
	if len(h.shown) != 2 || h.shown[0].Text != "hello" || h.shown[1].Name != "solve" {
		t.Errorf("shown: %+v", h.shown)
	}
}

func TestALineThatIsTooLongEndsItsConnectionAlone(t *testing.T) {
	h := listen(t)
	other, c := h.dial(), h.dial()
	go func() { _, _ = c.Write([]byte(strings.Repeat("x", 100<<10))) }()
	if r := h.answer(c); r.OK || !strings.Contains(r.Error, "at most 8192 bytes") {
		t.Errorf("%+v", r)
	}
	if r := h.say(other, `{"v":1,"kind":"message","text":"still here"}`); !r.OK {
		t.Errorf("%+v", r)
	}
}

func TestWhoDoesNotWaitForTheAnswerIsHeardAllTheSame(t *testing.T) {
	h := listen(t)
	c := h.dial()
	if _, err := c.Write([]byte(`{"v":1,"kind":"message","text":"a"}` + "\n" + `{"v":1,"kind":"message","text":"b"}` + "\n")); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	clocktest.WaitFor(t, "both messages", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.shown) == 2
	})
}

func TestMoreMessagesThanAnybodyReadsAreRefused(t *testing.T) {
	h := listen(t)
	h.ear.pace.due = time.Now().Add(-time.Hour)
	c := h.dial()
	for i := range maxTexts + 2 {
		r := h.say(c, `{"v":1,"kind":"message","text":"again"}`)
		if r.OK != (i < maxTexts) {
			t.Fatalf("message %d: %+v", i, r)
		}
	}
	if len(h.shown) != maxTexts {
		t.Errorf("%d are shown", len(h.shown))
	}
}

func TestWhoTalksWithoutEndWaits(t *testing.T) {
	now := time.Unix(1000, 0)
	var p pace
	for i := range lineBurst {
		if d := p.delayNext(now); d > 0 {
			t.Fatalf("line %d waits %v", i, d)
		}
	}
	for i := 1; i <= 3; i++ {
		if d := p.delayNext(now); d != time.Duration(i)*time.Second/linesPerSecond {
			t.Errorf("line %d waits %v", i, d)
		}
	}
	if d := p.delayNext(now.Add(time.Hour)); d > 0 {
		t.Errorf("after an hour of silence a line waits %v", d)
	}
}

// More connections than are served at once wait; none that leaves keeps a place.
func TestConnectionsThatSayNothingKeepNobodyOutForGood(t *testing.T) {
	h := listen(t)
	var silent []net.Conn
	for range maxConnections {
		silent = append(silent, h.dial())
	}
	late := h.dial()
	if _, err := late.Write([]byte(`{"v":1,"kind":"phase","name":"x"}` + "\n")); err != nil {
		t.Fatal(err)
	}
	_ = silent[0].Close()
	if r := h.answer(late); !r.OK {
		t.Errorf("%+v", r)
	}
}

func TestClosingEndsAllConnections(t *testing.T) {
	h := listen(t)
	c := h.dial()
	h.say(c, `{"v":1,"kind":"progress","of":1}`)
	over := make(chan struct{})
	go func() { defer close(over); h.ear.Close() }()
	select {
	case <-over:
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is open")
	}
	h.ear = nil // closed already
}

func TestAPathThatIsTooLongForASocketIsSaid(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	if _, err := (&Folder{dir: long}).Listen(clock.RealClock(), nil); err == nil || !strings.Contains(err.Error(), "107") {
		t.Errorf("%v", err)
	}
	if _, err := (*Folder)(nil).Listen(clock.RealClock(), nil); err == nil {
		t.Error("nothing can be listened to")
	}
	(*Listener)(nil).Close()
}
