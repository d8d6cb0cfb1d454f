package sensor

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
)

var errNonsense = errors.New("the other is no sensor, or of another version")

// A stream is pieces, each after its length; one of length 0 ends it.
const (
	piece     = 16 << 10 // what one record of TLS takes
	lengthLen = 4
)

// When a stream has told enough.
const (
	leastTime  = 30 * time.Millisecond
	leastBytes = 96 << 10
	// longestTime is for ways that are slow, or never the same: there it has to do.
	longestTime  = time.Second
	longestTrips = 12
	// lookEvery is how often it is looked how far the stream has got.
	lookEvery = time.Millisecond
)

// swallowStream reads a stream and says how long it was.
func swallowStream(c io.Reader, most int64) (int64, error) {
	var total int64
	buf := make([]byte, lengthLen+piece)
	for {
		if _, err := io.ReadFull(c, buf[:lengthLen]); err != nil {
			return total, err
		}
		n := int64(binary.BigEndian.Uint32(buf))
		if n == 0 {
			return total, nil
		}
		if n > piece || total+n > most {
			return total, errNonsense
		}
		if _, err := io.ReadFull(c, buf[:n]); err != nil {
			return total, err
		}
		total += n
	}
}

// pourStream sends a stream of at most so many bytes until it has told how fast the way
// is, and waits until the other has it.
func pourStream(c net.Conn, now clock.Clock, most int64, trip time.Duration) (driver.Flow, error) {
	w := &watcher{now: now, gauge: gaugeOf(c), trip: trip}
	w.beginSampling()
	var tasks sync.WaitGroup
	tasks.Go(w.runSampling)
	var total int64
	buf := make([]byte, lengthLen+piece)
	var err error
	for err == nil && total < most && !w.enough.Load() {
		n := min(piece, most-total)
		binary.BigEndian.PutUint32(buf, uint32(n))
		_, err = c.Write(buf[:lengthLen+n])
		total += n
	}
	w.wrote.Store(true)
	if err == nil {
		_, err = c.Write(make([]byte, lengthLen))
	}
	var got uint64
	if err == nil {
		_, got, err = receiveMessage(c)
	}
	took := max(now.Since(w.began), time.Microsecond)
	w.over.Store(true)
	tasks.Wait()
	if err == nil && got != uint64(total) {
		err = errNonsense
	}
	if err != nil {
		return driver.Flow{}, err
	}
	f := driver.Flow{Bytes: total, Took: took, Mbps: toMbps(w.steadyRate())}
	if f.Mbps <= 0 { // it was over too soon, or the kernel does not tell: the message as a whole, without the latency
		f.Mbps = toMbps(float64(total) / max(took-trip, took/10).Seconds())
	}
	return f, nil
}

func toMbps(bytesPerSecond float64) float64 { return bytesPerSecond * 8 / 1e6 }

// watcher looks how far a stream has got, beside who writes it: what the other
// end's kernel has acknowledged does not depend on when who gets a processor.
type watcher struct {
	now    clock.Clock
	gauge  *gauge
	trip   time.Duration
	began  time.Time
	enough atomic.Bool
	wrote  atomic.Bool // all that will be
	over   atomic.Bool

	first   int64 // acknowledged before
	list    []sample
	starved float64 // when nothing was left to be sent last, in seconds after the beginning
}

// sample is how many bytes were acknowledged so many seconds after the beginning.
type sample struct{ at, bytes float64 }

func (w *watcher) beginSampling() {
	w.began = w.now()
	w.first, _ = w.gauge.acknowledgedBytes()
	w.list = append(w.list, sample{})
}

func (w *watcher) runSampling() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for range tick.C {
		if w.over.Load() {
			return
		}
		n, ok := w.gauge.acknowledgedBytes()
		if !ok || w.wrote.Load() {
			continue // what comes now is the tail of it
		}
		s := sample{w.now.Since(w.began).Seconds(), float64(n - w.first)}
		w.list = append(w.list, s)
		w.gauge.keepFull(s.bytes / s.at)
		if w.gauge.isStarved() && w.gauge.growBuffer() {
			w.starved = s.at
		}
		if w.hasConverged(s) {
			w.enough.Store(true)
		}
	}
}

// hasConverged reports whether the stream has told how fast the way is: it has got up to
// speed when its last third was not faster than the one before.
func (w *watcher) hasConverged(s sample) bool {
	if s.at > longestTime.Seconds()+longestTrips*w.trip.Seconds() {
		return true
	}
	if s.at < leastTime.Seconds()+2*w.trip.Seconds() || s.bytes < leastBytes {
		return false
	}
	const noticeable = 1.1
	if w.starved > 2*s.at/3 {
		return false // it may be us who are slow
	}
	one, two := w.sampleAt(s.at/3), w.sampleAt(2*s.at/3)
	return s.bytes-two.bytes <= noticeable*(two.bytes-one.bytes)
}

// sampleAt is the first sample from a moment on.
func (w *watcher) sampleAt(t float64) sample {
	lo, hi := 0, len(w.list)-1
	for lo < hi {
		if mid := (lo + hi) / 2; w.list[mid].at < t {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return w.list[lo]
}

// steadyRate is the bytes a second after the first third of the time: the slope of the
// straight line through the samples, which evens out that bytes are acknowledged
// in lumps. 0 if they do not tell.
func (w *watcher) steadyRate() float64 {
	const fewest = 8
	last := w.list[len(w.list)-1]
	var n, x, y, xx, xy float64
	for _, s := range w.list {
		if s.at >= last.at/3 {
			n, x, y, xx, xy = n+1, x+s.at, y+s.bytes, xx+s.at*s.at, xy+s.at*s.bytes
		}
	}
	if n < fewest || last.bytes < leastBytes/2 {
		return 0
	}
	return (xy - x*y/n) / (xx - x*x/n)
}
