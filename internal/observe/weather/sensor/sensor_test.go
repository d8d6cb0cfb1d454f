package sensor

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func one(tb testing.TB) *Sensor {
	tb.Helper()
	s := New(func(context.Context) (driver.Load, error) { return driver.Load{Share: 0.5}, nil }, clock.RealClock())
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func listening(tb testing.TB, s *Sensor) rendezvous.Rendezvous {
	tb.Helper()
	a, err := s.MeasureHosts(tb.Context(), driver.Sensing{Listen: &driver.Listening{Name: "localhost"}})
	if err != nil || a.Listens == nil {
		tb.Fatal(a, err)
	}
	return *a.Listens
}

func TestOneSensorMeasuresTheWayToAnotherAndBack(t *testing.T) {
	here, there := one(t), one(t)
	a, err := here.MeasureHosts(t.Context(),
		driver.Sensing{Probe: &driver.Probe{To: listening(t, there), Bytes: 64 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	w := a.Way
	t.Logf("%+v", w)
	if w.Latency <= 0 || w.Latency > 5*time.Second || w.There.Mbps <= 0 || w.Back.Mbps <= 0 || w.There.Bytes <= 0 ||
		w.There.Bytes > 64<<20 || w.Back.Bytes > 64<<20 {
		t.Errorf("%+v", w)
	}
}

func TestAProbeSendsNoMoreThanItMay(t *testing.T) {
	here, there := one(t), one(t)
	for _, most := range []int64{1, 1000, piece, 100_000} {
		a, err := here.MeasureHosts(t.Context(), driver.Sensing{Probe: &driver.Probe{To: listening(t, there), Bytes: most}})
		if err != nil || a.Way.There.Bytes > most || a.Way.Back.Bytes > most || a.Way.There.Mbps <= 0 ||
			a.Way.Back.Mbps <= 0 {
			t.Errorf("%d: %+v %v", most, a.Way, err)
		}
	}
	for _, most := range []int64{0, -1, mostBytes + 1} {
		if _, err := here.MeasureHosts(t.Context(),
			driver.Sensing{Probe: &driver.Probe{To: listening(t, there), Bytes: most}}); err == nil {
			t.Errorf("%d bytes were sent", most)
		}
	}
}

func TestASensorLetsOneInAndNoStranger(t *testing.T) {
	here, there := one(t), one(t)
	r := listening(t, there)
	stranger := r
	stranger.Token = strings.Repeat("00", 32)
	if _, err := here.MeasureHosts(t.Context(),
		driver.Sensing{Probe: &driver.Probe{To: stranger, Bytes: 1000}}); err == nil {
		t.Error("a stranger was let in")
	}
	if _, err := here.MeasureHosts(t.Context(), driver.Sensing{Probe: &driver.Probe{To: r, Bytes: 1000}}); err != nil {
		t.Error(err)
	}
	clocktest.WaitFor(t, "nobody to listen any more", func() bool {
		c, err := net.Dial("tcp", r.Addresses[0])
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	many := one(t)
	for range mostListening {
		listening(t, many)
	}
	if _, err := many.MeasureHosts(t.Context(), driver.Sensing{Listen: &driver.Listening{}}); err == nil {
		t.Error("there is no end to it")
	}
}

func TestAWithdrawnProbeEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // which says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	r := rendezvous.Rendezvous{Addresses: []string{l.Addr().String()}, Certificate: strings.Repeat("00", 32),
		Token: strings.Repeat("00", 32)}
	if _, err := one(t).MeasureHosts(ctx, driver.Sensing{Probe: &driver.Probe{To: r, Bytes: 1}}); err == nil {
		t.Error("nothing was measured, yet there is a result")
	}
}

func TestTheMachineIsSensed(t *testing.T) {
	a, err := one(t).MeasureHosts(t.Context(), driver.Sensing{})
	if err != nil || a.Machine.Load.Share != 0.5 || a.Machine.Memory < 1<<20 {
		t.Errorf("%+v %v", a.Machine, err)
	}
	if _, err := New(nil, clock.RealClock()).MeasureHosts(t.Context(), driver.Sensing{}); !errors.Is(err,
		errors.ErrUnsupported) {
		t.Error(err)
	}
}

func TestAvailableMemoryIsReadFromMeminfo(t *testing.T) {
	if got := parseAvailable("MemTotal:  100 kB\nMemAvailable:     40 kB\n"); got != 40<<10 {
		t.Error(got)
	}
	for _, bad := range []string{"", "MemAvailable: x kB", "MemAvailable: -4 kB"} {
		if parseAvailable(bad) != 0 {
			t.Error(bad)
		}
	}
}

// The rate is that of the stream at full speed, however it got there.
func TestTheRateLeavesOutHowAStreamGotUpToSpeed(t *testing.T) {
	for _, ramp := range []float64{0, 0.01, 0.05} {
		w := &watcher{trip: seconds(ramp / 4)}
		bytes, rate := 0.0, 0.0
		for at := 0.0; at < 2; at += 0.001 {
			rate = 12.5e6
			if at < ramp {
				rate *= math.Pow(2, (at-ramp)/(ramp/5))
			}
			bytes += rate * 0.001
			s := sample{at + 0.001, math.Floor(bytes/20000) * 20000} // in lumps
			if w.list = append(w.list, s); w.hasConverged(s) {
				break
			}
		}
		last := w.list[len(w.list)-1]
		if got := w.steadyRate(); got < 0.9*12.5e6 || got > 1.1*12.5e6 || last.at > 0.4 {
			t.Errorf("up to speed after %v s: %v bytes/s after %v s", ramp, got, last.at)
		}
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// pipe is a connection whose other end says what it was given, and no more.
type pipe struct {
	io.Reader
	n int
}

func (p *pipe) Write(b []byte) (int, error)      { p.n += len(b); return len(b), nil }
func (p *pipe) Close() error                     { return nil }
func (p *pipe) LocalAddr() net.Addr              { return nil }
func (p *pipe) RemoteAddr() net.Addr             { return nil }
func (p *pipe) SetDeadline(time.Time) error      { return nil }
func (p *pipe) SetReadDeadline(time.Time) error  { return nil }
func (p *pipe) SetWriteDeadline(time.Time) error { return nil }

// FuzzServe: whatever whoever comes says, it does no harm and ends.
func FuzzServe(f *testing.F) {
	word := func(what byte, n uint64) []byte { return binary.BigEndian.AppendUint64([]byte{what}, n) }
	f.Add(word(echo, 7))
	f.Add(append(word(take, 3), 0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0))
	f.Add(append(word(give, 5), word(give, 5)...))
	f.Add(word(take, math.MaxUint64))
	f.Fuzz(func(t *testing.T, data []byte) {
		for i := 0; i+9 <= len(data); i++ { // a stream as long as may be takes its time
			if n := binary.BigEndian.Uint64(data[i+1:]); data[i] == give && n > 1<<20 && n <= mostBytes {
				return
			}
		}
		if err := serveConnection(&pipe{Reader: strings.NewReader(string(data))}, clock.RealClock()); err == nil {
			t.Error("it goes on without anybody")
		}
	})
}

// BenchmarkLoopback is how fast a way can be measured on one machine: TLS costs.
func BenchmarkLoopback(b *testing.B) {
	here, there := one(b), one(b)
	var most, sum float64
	n := 0
	for b.Loop() {
		a, err := here.MeasureHosts(b.Context(),
			driver.Sensing{Probe: &driver.Probe{To: listening(b, there), Bytes: mostBytes}})
		if err != nil {
			b.Fatal(err)
		}
		most, sum, n = max(most, a.Way.There.Mbps), sum+a.Way.There.Mbps, n+1
	}
	b.ReportMetric(sum/float64(n), "Mbit/s")
	b.ReportMetric(most, "best-Mbit/s")
}
