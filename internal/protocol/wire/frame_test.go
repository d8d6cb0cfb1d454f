package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func fullMessage() Message {
	return Message{
		Seq: 1<<32 + 7, Kind: Output, Job: 3, Epoch: 2, Mark: "m", Method: "signal", Why: "because",
		Stream: 2, Offset: 1 << 40, Data: []byte("a\x00\xff\n"), Saved: &Saved{N: 1, Method: "signal", Work: "w"},
		State: &Vitals{CPU: 1.5, Left: []float64{1, 2}}, Code: 7, Result: "tree",
		Entry: &Entry{At: core.AtSecond(3), Kind: "method", Inputs: map[string]any{"share": 0.5}},
	}
}

func TestAFrameIsReadBackAsItWasWritten(t *testing.T) {
	want := fullMessage()
	var b bytes.Buffer
	for range 3 {
		if err := WriteFrame(&b, want); err != nil {
			t.Fatal(err)
		}
	}
	r := iotest.OneByteReader(&b)
	for range 3 {
		var got Message
		if err := ReadFrame(r, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("read back as %+v, %v", got, err)
		}
	}
	if err := ReadFrame(r, new(Message)); !errors.Is(err, io.EOF) {
		t.Errorf("after the last frame: %v, want EOF", err)
	}
}

func TestACutFrameIsNotTheEnd(t *testing.T) {
	frame, err := AppendFrame(nil, fullMessage())
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(frame); n++ {
		if err := ReadFrame(bytes.NewReader(frame[:n]), new(Message)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
	}
}

func TestAFrameThatIsTooLargeIsRefusedOnBothSides(t *testing.T) {
	if err := WriteFrame(io.Discard, Message{Why: strings.Repeat("x", MaxFrame)}); !errors.Is(err, ErrFrame) {
		t.Errorf("written: %v", err)
	}
	if err := ReadFrame(strings.NewReader("\xff\xff\xff\xff{}"), new(Message)); !errors.Is(err, ErrFrame) {
		t.Errorf("read: %v", err)
	}
	full := Message{Kind: Output, Stream: 1, Offset: 1 << 62, Seq: 1 << 63, Data: make([]byte, MaxData)}
	if err := WriteFrame(io.Discard, full); err != nil {
		t.Errorf("a message full of output: %v", err)
	}
}

func TestAPromisedLengthTakesNoMemoryUntilItArrives(t *testing.T) {
	n := testing.AllocsPerRun(5, func() {
		_ = ReadFrame(strings.NewReader("\x00\x3f\xff\xff{"), new(Message))
	})
	if n > 20 {
		t.Errorf("%v allocations for one byte", n)
	}
}

func FuzzReadFrame(f *testing.F) {
	frame, err := AppendFrame(nil, fullMessage())
	if err != nil {
		f.Fatal(err)
	}
	order, err := AppendFrame(nil, Order{Kind: Stop, By: 5, Why: "w"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(frame)
	f.Add(order)
	f.Add(append(order, frame[:9]...))
	f.Add([]byte("\x00\x00\x00\x02{}\x00\x00\x00\x00"))
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		readAndWriteBack[Message](t, data)
		readAndWriteBack[Order](t, data)
	})
}

// readAndWriteBack reads frames until an error; what was read is written and
// read back the same.
func readAndWriteBack[T any](t *testing.T, data []byte) {
	r := bytes.NewReader(data)
	for {
		var v, again T
		if err := ReadFrame(r, &v); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, ErrFrame) {
				t.Fatalf("%q: an error of no kind: %v", data, err)
			}
			return
		}
		once, err := AppendFrame(nil, v)
		if err != nil {
			t.Fatalf("%+v was read but cannot be written: %v", v, err)
		}
		if err := ReadFrame(bytes.NewReader(once), &again); err != nil {
			t.Fatalf("%q was written but cannot be read: %v", once, err)
		}
		if twice, err := AppendFrame(nil, again); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("written %q, read back and written %q, %v", once, twice, err)
		}
	}
}

// serve serves h on a Unix socket until the test ends.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
	return socket
}

func TestAgentAndBrokerAgreeAndThenSpeakInFrames(t *testing.T) {
	served := make(chan error, 1)
	socket := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served <- func() error {
			c, err := AcceptAgent(w, r)
			if err != nil {
				return err
			}
			defer c.Close()
			var m Message
			if err := ReadFrame(c.R, &m); err != nil {
				return err
			}
			return WriteFrame(c, Order{Kind: Ack, Seq: m.Seq})
		}()
	}))
	c, err := DialBroker(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := WriteFrame(c, Message{Seq: 9, Kind: Hello}); err != nil {
		t.Fatal(err)
	}
	var o Order
	if err := ReadFrame(c.R, &o); err != nil || !reflect.DeepEqual(o, Order{Kind: Ack, Seq: 9}) {
		t.Fatalf("%+v, %v", o, err)
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
}

func TestWhoDoesNotSpeakTheProtocolIsToldSo(t *testing.T) {
	socket := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != Path {
			http.NotFound(w, r)
			return
		}
		r.Header.Del("Upgrade")
		if _, err := AcceptAgent(w, r); err == nil {
			t.Error("a request without Upgrade was accepted")
		}
	}))
	if _, err := DialBroker(t.Context(), socket); err == nil || !strings.Contains(err.Error(), "426") {
		t.Errorf("refused with %v", err)
	}
}

func TestABrokerThatNeverAnswersIsGivenUp(t *testing.T) {
	block := make(chan struct{})
	socket := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-block }))
	defer close(block)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := DialBroker(ctx, socket); err == nil {
		t.Error("connected to a broker that does not answer")
	}
}

func BenchmarkFrame(b *testing.B) {
	m := Message{Seq: 1, Kind: Output, Stream: 1, Data: make([]byte, 64<<10)}
	var buf []byte
	b.SetBytes(64 << 10)
	for b.Loop() {
		var err error
		if buf, err = AppendFrame(buf[:0], m); err != nil {
			b.Fatal(err)
		}
		if err := ReadFrame(bytes.NewReader(buf), new(Message)); err != nil {
			b.Fatal(err)
		}
	}
}
