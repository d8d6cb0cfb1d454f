package sensor

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
)

// What the one that came says to the one that listened: a letter and a number.
// After echo the same comes back. After take a stream follows, and its length
// comes back. After give a stream comes back with what it was like; the number
// is how long it may be, and its length is answered when it has ended.
const (
	echo = 'e'
	take = 't'
	give = 'g'
)

// pings is how many round trips are tried at most, and enoughPings after how
// long they are enough, if there were leastPings.
const (
	pings       = 20
	leastPings  = 4
	enoughPings = 60 * time.Millisecond
)

// mostBytes bounds what anybody may ask to be sent.
const mostBytes = 1 << 30

// probeSensor measures the way to a sensor that listens, and back.
func (s *Sensor) probeSensor(ctx context.Context, p *driver.Probe) (*driver.LinkMeasurement, error) {
	if p.Bytes <= 0 || p.Bytes > mostBytes {
		return nil, fmt.Errorf("a probe of %d bytes; from 1 to %d can be", p.Bytes, mostBytes)
	}
	c, err := p.To.DialOwner(ctx)
	if err != nil {
		return nil, fmt.Errorf("probing the way: %w", err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(s.clock().Add(toProbe))
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	w := new(driver.LinkMeasurement)
	trip, err := roundTrip(c, s.clock)
	if err == nil {
		w.Latency = trip / 2
		w.There, err = measureSend(c, s.clock, p.Bytes, trip)
	}
	if err == nil {
		w.Back, err = measureFetch(c, p.Bytes)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("probing the way: %w", err)
	}
	return w, nil
}

func sendMessage(c io.Writer, what byte, n uint64) error {
	_, err := c.Write(binary.BigEndian.AppendUint64([]byte{what}, n))
	return err
}

func receiveMessage(c io.Reader) (what byte, n uint64, err error) {
	var b [9]byte
	_, err = io.ReadFull(c, b[:])
	return b[0], binary.BigEndian.Uint64(b[1:]), err
}

// roundTrip is the best of several.
func roundTrip(c net.Conn, now clock.Clock) (time.Duration, error) {
	best := time.Duration(math.MaxInt64)
	for began, i := now(), 0; i < pings && (i < leastPings || now.Since(began) < enoughPings); i++ {
		at := now()
		if err := sendMessage(c, echo, uint64(i)); err != nil {
			return 0, err
		}
		what, n, err := receiveMessage(c)
		if err != nil {
			return 0, err
		}
		if what != echo || n != uint64(i) {
			return 0, errNonsense
		}
		best = min(best, now.Since(at))
	}
	return best, nil
}

// measureSend measures the way there.
func measureSend(c net.Conn, now clock.Clock, most int64, trip time.Duration) (driver.Flow, error) {
	if err := sendMessage(c, take, uint64(most)); err != nil {
		return driver.Flow{}, err
	}
	return pourStream(c, now, most, trip)
}

// measureFetch has the other measure the way back.
func measureFetch(c net.Conn, most int64) (driver.Flow, error) {
	if err := sendMessage(c, give, uint64(most)); err != nil {
		return driver.Flow{}, err
	}
	n, err := swallowStream(c, most)
	if err == nil {
		err = sendMessage(c, give, uint64(n))
	}
	if err != nil {
		return driver.Flow{}, err
	}
	var b [24]byte
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return driver.Flow{}, err
	}
	f := driver.Flow{Mbps: math.Float64frombits(binary.BigEndian.Uint64(b[:])),
		Bytes: int64(binary.BigEndian.Uint64(b[8:])), Took: time.Duration(binary.BigEndian.Uint64(b[16:]))}
	if !(f.Mbps > 0) || math.IsInf(f.Mbps, 0) || f.Bytes != n || f.Took <= 0 {
		return driver.Flow{}, errNonsense
	}
	return f, nil
}

// serveConnection is the side of the one that listened, until the other has gone.
func serveConnection(c net.Conn, now clock.Clock) error {
	trip := 10 * time.Millisecond // as long as nobody knows better
	last := now()
	for {
		what, n, err := receiveMessage(c)
		if err != nil {
			return err
		}
		switch {
		case what == echo:
			trip, last = max(100*time.Microsecond, now.Since(last)), now()
			err = sendMessage(c, echo, n)
		case what == take && n <= mostBytes:
			var got int64
			if got, err = swallowStream(c, int64(n)); err == nil {
				err = sendMessage(c, take, uint64(got))
			}
		case what == give && n > 0 && n <= mostBytes:
			var f driver.Flow
			if f, err = pourStream(c, now, int64(n), trip); err == nil {
				b := binary.BigEndian.AppendUint64(nil, math.Float64bits(f.Mbps))
				b = binary.BigEndian.AppendUint64(b, uint64(f.Bytes))
				_, err = c.Write(binary.BigEndian.AppendUint64(b, uint64(f.Took)))
			}
		default:
			err = errNonsense
		}
		if err != nil {
			return err
		}
	}
}
