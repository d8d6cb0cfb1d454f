package talk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func pair(t *testing.T) (broker, post *Link) {
	t.Helper()
	a, b := net.Pipe()
	broker, err := NewLink(a, true, clock.RealClock())
	if err == nil {
		post, err = NewLink(b, false, clock.RealClock())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = broker.Close(), post.Close() })
	return broker, post
}

func TestARequestIsAnswered(t *testing.T) {
	broker, post := pair(t)
	go func() {
		for {
			s, err := post.AcceptStream()
			if err != nil {
				return
			}
			var q Request
			if ReceiveMessage(s, &q) == nil && q.CheckRequest() == nil {
				_ = SendMessage(s, &Answer{Why: q.Do, Found: []driver.Found{{ID: q.ID}}})
			}
			_ = s.Close()
		}
	}()
	var all sync.WaitGroup
	for n := range 50 {
		all.Go(func() {
			id := driver.ID{Job: core.JobID(n + 1), Epoch: 1}
			a, sent, err := broker.SendRequest(t.Context(), &Request{Do: Why, ID: id}, nil)
			if err != nil || !sent || a.Why != Why || a.Found[0].ID != id {
				t.Errorf("%d: %+v %v", n, a, err)
			}
		})
	}
	all.Wait()
}

func TestARequestThatIsWithdrawnReturnsAndTheOtherEndHearsOfIt(t *testing.T) {
	broker, post := pair(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	heard := make(chan error, 1)
	go func() {
		s, err := post.AcceptStream()
		if err == nil {
			err = ReceiveMessage(s, new(Request))
		}
		cancel()
		if err == nil {
			_, err = s.Read(make([]byte, 1))
			_ = s.Close()
		}
		heard <- err
	}()
	_, sent, err := broker.SendRequest(ctx, &Request{Do: Find}, nil)
	if !sent || !errors.Is(err, context.Canceled) {
		t.Errorf("%v %v", sent, err)
	}
	if err := <-heard; !errors.Is(err, io.EOF) {
		t.Errorf("the other end heard %v", err)
	}
	_, sent, err = broker.SendRequest(ctx, &Request{Do: Find}, nil)
	if sent || !errors.Is(err, context.Canceled) {
		t.Errorf("after that: %v %v", sent, err)
	}
}

func TestALinkWhoseOtherEndIsSilentEnds(t *testing.T) {
	a, b := net.Pipe()
	defer func() { _ = b.Close() }()
	var mu sync.Mutex
	skew := time.Duration(0)
	l, err := NewLink(a, true, func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Add(skew)
	})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, b) }() // it hears, and says nothing
	mu.Lock()
	skew = silenceTimeout
	mu.Unlock()
	select {
	case <-l.Done():
	case <-time.After(time.Minute):
		t.Error("it lives")
	}
	if _, sent, err := l.SendRequest(t.Context(), &Request{Do: Find}, nil); sent || err == nil {
		t.Errorf("%v %v", sent, err)
	}
}

func TestErrorsKeepTheirMeaning(t *testing.T) {
	for _, kind := range []error{driver.ErrAway, driver.ErrRefused, driver.ErrUnreached, errors.ErrUnsupported, nil} {
		err := errors.New("no")
		if kind != nil {
			err = fmt.Errorf("it says: %w", kind)
		}
		var buf bytes.Buffer
		got := new(Answer)
		if e := errors.Join(SendMessage(&buf, AnswerFromError(err)), ReceiveMessage(&buf, got)); e != nil {
			t.Fatal(e)
		}
		if e := got.ToError(); e.Error() != err.Error() || kind != nil && !errors.Is(e, kind) || errors.Is(e, driver.ErrAway) != (kind == driver.ErrAway) { //nolint:errorlint // the table's own
			t.Errorf("%v became %v", err, e)
		}
	}
	if (&Answer{}).ToError() != nil {
		t.Error("no error is one")
	}
}

func TestTheOutpostIsAwaited(t *testing.T) {
	for _, c := range []struct{ said, want, rest string }{
		{Greeting + "\nrest", Greeting, "rest"},
		{"Welcome\r\n\n" + Greeting + "\r\nrest", Greeting, "rest"},
		{"prompt> " + Greeting + "\n", Greeting, ""},
		{"missing Linux x86_64\n", "missing Linux x86_64", ""},
		{"nothing of the kind\n", "", ""},
		{"", "", ""},
		{strings.Repeat("x\n", maxNoise), "", ""},
	} {
		r := strings.NewReader(c.said)
		got, err := AwaitLine(r, Greeting, "missing")
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%.40q: %q, %v", c.said, got, err)
		}
		if rest, _ := io.ReadAll(r); err == nil && string(rest) != c.rest {
			t.Errorf("%.40q: %q is left", c.said, rest)
		}
		if err != nil && (!errors.Is(err, ErrNoOutpost) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%.40q: %v", c.said, err)
		}
	}
}

func TestWords(t *testing.T) {
	for s, want := range map[string]bool{"leeds": true, "a.b-c_9": true, "": false, "..": false, ".x": false, "-x": false,
		"a/b": false, "a b": false, "ä": false, "x'": false} {
		if IsPlainWord(s) != want {
			t.Errorf("%q", s)
		}
	}
}

// FuzzRequest: nothing that comes over the line does harm, and what is taken
// means the same when it is sent on.
func FuzzRequest(f *testing.F) {
	add := func(v any) {
		var buf bytes.Buffer
		if err := SendMessage(&buf, v); err != nil {
			f.Fatal(err)
		}
		f.Add(buf.Bytes())
	}
	add(&Request{Do: Start, Attempt: &wire.Attempt{Job: 1, Epoch: 1}})
	add(&Request{Do: Wait, Need: &driver.Need{Procs: 3}})
	add(&Hello{Protocol: Protocol, Owner: "me", Settings: driver.Settings{Cluster: "leeds", Kind: "local"}})
	add(AnswerFromError(driver.ErrAway))
	add(&Request{Do: Offer, Path: "/data/x"})
	add(&Request{Do: Equip, Binary: &Binary{Sum: strings.Repeat("0a", 32), Size: 7}})
	add(&Request{Do: PlaceResults, Place: &driver.ResultPlacement{Tree: "00", To: "/data/"}})
	add(&Request{Do: Take, Offer: &driver.Offer{Tree: "00",
		At: rendezvous.Rendezvous{Addresses: []string{"[::1]:7"}, Certificate: "00", Token: "00"}}})
	add(&Answer{Survey: &driver.Survey{Hosts: []driver.Host{{Name: "a", Procs: 2}}}})
	f.Fuzz(func(t *testing.T, data []byte) {
		var q Request
		if ReceiveMessage(bytes.NewReader(data), &q) == nil && q.CheckRequest() == nil {
			same(t, &q, new(Request))
		}
		var h Hello
		if ReceiveMessage(bytes.NewReader(data), &h) == nil && h.CheckHello() == nil {
			if strings.ContainsAny(h.Settings.Cluster+h.Owner, "/\x00 ") {
				t.Errorf("%q %q", h.Settings.Cluster, h.Owner)
			}
			same(t, &h, new(Hello))
		}
		var a Answer
		if ReceiveMessage(bytes.NewReader(data), &a) == nil {
			_ = a.ToError()
			same(t, &a, new(Answer))
		}
		_, _ = AwaitLine(bytes.NewReader(data), Greeting)
	})
}

// same sends v once and twice: both times the same arrives.
func same[T any](t *testing.T, v, once *T) {
	t.Helper()
	var buf bytes.Buffer
	if SendMessage(&buf, v) != nil || ReceiveMessage(&buf, once) != nil {
		t.Skip("JSON does not keep it") // such as text that is no UTF-8
	}
	twice := new(T)
	if err := errors.Join(SendMessage(&buf, once), ReceiveMessage(&buf, twice)); err != nil ||
		!reflect.DeepEqual(once, twice) {
		t.Errorf("%+v became %+v: %v", once, twice, err)
	}
}
