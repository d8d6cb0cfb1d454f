package staging

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver"
)

const (
	// dialTimeout is how long another site is tried.
	dialTimeout = 2 * time.Second
	// maxVainTries is how often in a row it may break without anything having come.
	maxVainTries = 3
	// answerTimeout is how long it may take to begin to answer.
	answerTimeout = 2 * time.Minute
)

// TakeOffer fetches what another site offers, and keeps it. What came before it broke
// stays.
func (s *Site) TakeOffer(ctx context.Context, o driver.Offer) (driver.Moved, error) {
	to, err := s.openStore()
	if err != nil {
		return driver.Moved{}, err
	}
	id := depot.ID(o.Tree)
	m := driver.Moved{Tree: o.Tree, Bytes: o.Bytes}
	held, err := depot.HoldsTree(ctx, to, id)
	if err != nil || held {
		return m, errors.Join(err, s.recordUse(ctx, brought{o.Tree, o.Bytes}))
	}
	// Noted before, so that nobody who drops something drops it when it has just
	// come.
	if err := s.recordUse(ctx, brought{o.Tree, o.Bytes}); err != nil {
		return m, err
	}
	s.inUse.RLock()
	defer s.inUse.RUnlock()
	err = copyFrom(ctx, &o, to, &m)
	return m, err
}

// copyFrom copies an offer, again where it broke, and notes how much came.
func copyFrom(ctx context.Context, o *driver.Offer, to *depot.Store, m *driver.Moved) error {
	t := &http.Transport{MaxIdleConns: 1, IdleConnTimeout: 10 * time.Second, ResponseHeaderTimeout: answerTimeout,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			c, err := o.At.DialOwner(ctx)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", driver.ErrUnreached, err)
			}
			return c, nil
		}}
	defer t.CloseIdleConnections()
	from := depot.NewClient(&http.Client{Transport: t}, "http://site")
	for vain := 0; ; {
		_, stats, err := depot.CopyTree(ctx, from, depot.ID(o.Tree), to)
		m.Sent, m.Took = m.Sent+stats.Moved, from.Traffic().Busy
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case errors.Is(err, depot.ErrMissing), errors.Is(err, depot.ErrDamaged): // the file has changed
			return err
		case m.Sent == 0 && errors.Is(err, driver.ErrUnreached):
			return err
		}
		if vain++; stats.Moved > 0 {
			vain = 0
		}
		if vain >= maxVainTries {
			// Its words alone: it is not one that was never reached.
			return fmt.Errorf("it broke %d times, after %d bytes: %s", vain, m.Sent, err.Error())
		}
		if !clock.SleepContext(ctx, time.Duration(1+vain)*250*time.Millisecond) {
			return ctx.Err()
		}
	}
}
