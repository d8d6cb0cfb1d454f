package outpost

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/remote/talk"
	"github.com/godwit-hpc/godwit/internal/driver/staging"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// answer hears one request, does what it asks for and says what came of it.
func (p *post) answer(ctx context.Context, s talk.Stream) {
	defer func() { _ = s.Close() }()
	q := new(talk.Request)
	if talk.Receive(s, q) != nil {
		return // withdrawn
	}
	if q.Do == talk.Equip && q.Check() == nil {
		p.equip(s, q)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel() // withdrawn, or answered below
		_, _ = s.Read(make([]byte, 1))
	}()
	if q.Do == talk.Offer && q.Check() == nil {
		p.offer(ctx, s, q)
		return
	}
	a, err := p.do(ctx, q)
	if err != nil {
		a = talk.Failed(err)
	}
	if err := talk.Send(s, a); err != nil && ctx.Err() == nil {
		p.Log.Warn("an answer could not be sent", "to", q.Do, "error", err)
	}
}

func (p *post) do(ctx context.Context, q *talk.Request) (*talk.Answer, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	a := new(talk.Answer)
	switch q.Do {
	case talk.Start:
		if m := q.Attempt.Spec.Checkpoint.Method; m == "" || m == "auto" || m == "sandbox" {
			p.box.wait(ctx)
		}
		q.Attempt.Brought = staging.Kept(p.place.dir)
		if q.Attempt.Outgoing == wire.OnTheWay {
			q.Attempt.Outgoing = staging.Outgoing(p.place.dir)
		}
		return a, p.driver.Start(ctx, q.Attempt)
	case talk.Release:
		return a, p.driver.Release(ctx, q.ID)
	case talk.Find:
		var err error
		a.Found, err = p.driver.Find(ctx)
		return a, err
	case talk.Load:
		load, err := p.driver.Load(ctx)
		a.Load = &load
		return a, err
	case talk.Survey:
		var err error
		a.Survey, err = p.survey.ask(ctx)
		return a, err
	case talk.Wait:
		e, ok := p.driver.(driver.Estimator)
		if !ok {
			return a, errors.ErrUnsupported
		}
		wait, err := e.Wait(ctx, *q.Need)
		a.Wait = &wait
		return a, err
	case talk.Why:
		e, ok := p.driver.(driver.Explainer)
		if !ok {
			return a, nil
		}
		var err error
		a.Why, err = e.Why(ctx, q.ID)
		return a, err
	case talk.Sense:
		sensed, err := p.sensor.Sense(ctx, *q.Sense)
		a.Sensed = &sensed
		return a, err
	}
	return p.move(ctx, q)
}

// move does what is about files.
func (p *post) move(ctx context.Context, q *talk.Request) (*talk.Answer, error) {
	a := new(talk.Answer)
	switch q.Do {
	case talk.Stat:
		f, err := p.files.Stat(ctx, q.Path)
		a.File = &f
		return a, err
	case talk.Push:
		m, err := p.files.Push(ctx, q.Path)
		a.Moved = &m
		return a, err
	case talk.Bring:
		m, err := p.files.Bring(ctx, q.Tree)
		a.Moved = &m
		return a, err
	case talk.Take:
		m, err := p.files.Take(ctx, *q.Offer)
		a.Moved = &m
		return a, err
	case talk.Place:
		var err error
		a.Placed, err = p.files.Place(ctx, *q.Place)
		return a, err
	case talk.Drop:
		return a, p.files.Drop(ctx, q.Path)
	}
	return nil, errors.ErrUnsupported
}

// offer offers something to another site until the broker has enough of it.
func (p *post) offer(ctx context.Context, s talk.Stream, q *talk.Request) {
	o, err := p.files.Offer(ctx, driver.Wanted{Path: q.Path, Tree: q.Tree})
	if err != nil {
		_ = talk.Send(s, talk.Failed(err)) // else the broker has gone
		return
	}
	if talk.Send(s, &talk.Answer{Offer: &o.Offer}) == nil {
		select {
		case <-ctx.Done():
		case <-o.Over():
		}
	}
	p.log(o.Close())
}

// filesAt moves files between here and the depot of the broker, which is reached
// as agents reach it.
func (p *post) filesAt() *staging.Site {
	t := &http.Transport{
		DialContext:  func(context.Context, string, string) (net.Conn, error) { return p.link.Open() },
		MaxIdleConns: 4, IdleConnTimeout: 10 * time.Second,
	}
	return &staging.Site{Home: p.Home, Dir: p.place.dir, Depot: depot.NewClient(&http.Client{Transport: t}, "http://broker"+wire.Depot)}
}
