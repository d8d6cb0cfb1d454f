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

// answerRequest hears one request, does what it asks for and says what came of it.
func (p *post) answerRequest(ctx context.Context, s talk.Stream) {
	defer func() { _ = s.Close() }()
	q := new(talk.Request)
	if talk.ReceiveMessage(s, q) != nil {
		return // withdrawn
	}
	if q.Do == talk.Equip && q.CheckRequest() == nil {
		p.receiveSandbox(s, q)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel() // withdrawn, or answered below
		_, _ = s.Read(make([]byte, 1))
	}()
	if q.Do == talk.Offer && q.CheckRequest() == nil {
		p.offerFiles(ctx, s, q)
		return
	}
	a, err := p.doRequest(ctx, q)
	if err != nil {
		a = talk.AnswerFromError(err)
	}
	if err := talk.SendMessage(s, a); err != nil && ctx.Err() == nil {
		p.Log.Warn("an answer could not be sent", "to", q.Do, "error", err)
	}
}

func (p *post) doRequest(ctx context.Context, q *talk.Request) (*talk.Answer, error) {
	if err := q.CheckRequest(); err != nil {
		return nil, err
	}
	a := new(talk.Answer)
	switch q.Do {
	case talk.Start:
		if m := q.Attempt.Spec.Checkpoint.Method; m == "" || m == "auto" || m == "sandbox" {
			p.box.waitSettled(ctx)
		}
		q.Attempt.Brought = staging.KeptFolder(p.place.dir)
		if q.Attempt.Outgoing == wire.FillInAtSite {
			q.Attempt.Outgoing = staging.OutgoingFolder(p.place.dir)
		}
		return a, p.driver.StartAttempt(ctx, q.Attempt)
	case talk.Release:
		return a, p.driver.ReleaseAttempt(ctx, q.ID)
	case talk.Find:
		var err error
		a.Found, err = p.driver.FindAttempts(ctx)
		return a, err
	case talk.Load:
		load, err := p.driver.MeasureLoad(ctx)
		a.Load = &load
		return a, err
	case talk.Survey:
		var err error
		a.Survey, err = p.survey.askSurvey(ctx)
		return a, err
	case talk.Wait:
		e, ok := p.driver.(driver.Estimator)
		if !ok {
			return a, errors.ErrUnsupported
		}
		wait, err := e.EstimateWait(ctx, *q.Need)
		a.Wait = &wait
		return a, err
	case talk.Why:
		e, ok := p.driver.(driver.Explainer)
		if !ok {
			return a, nil
		}
		var err error
		a.Why, err = e.ExplainWait(ctx, q.ID)
		return a, err
	case talk.Adjust:
		d, ok := p.driver.(driver.Adjuster)
		if !ok {
			return a, errors.ErrUnsupported
		}
		var err error
		a.CPUs, err = d.AdjustProcs(ctx, q.ID, q.Held)
		return a, err
	case talk.Extend:
		d, ok := p.driver.(driver.Extender)
		if !ok {
			return a, errors.ErrUnsupported
		}
		var err error
		a.Procs, err = d.ExtendAttempt(ctx, q.ID, q.Procs)
		return a, err
	case talk.Sense:
		sensed, err := p.sensor.MeasureHosts(ctx, *q.Sense)
		a.Sensed = &sensed
		return a, err
	}
	return p.moveFiles(ctx, q)
}

// moveFiles does what is about files.
func (p *post) moveFiles(ctx context.Context, q *talk.Request) (*talk.Answer, error) {
	a := new(talk.Answer)
	switch q.Do {
	case talk.Stat:
		f, err := p.files.StatFile(ctx, q.Path)
		a.File = &f
		return a, err
	case talk.Push:
		m, err := p.files.PushFiles(ctx, q.Path)
		a.Moved = &m
		return a, err
	case talk.Bring:
		m, err := p.files.BringTree(ctx, q.Tree)
		a.Moved = &m
		return a, err
	case talk.Take:
		m, err := p.files.TakeOffer(ctx, *q.Offer)
		a.Moved = &m
		return a, err
	case talk.PlaceResults:
		var err error
		a.Placed, err = p.files.PlaceResults(ctx, *q.Place)
		return a, err
	case talk.Drop:
		return a, p.files.DropResults(ctx, q.Path)
	}
	return nil, errors.ErrUnsupported
}

// offerFiles offers something to another site until the broker has enough of it.
func (p *post) offerFiles(ctx context.Context, s talk.Stream, q *talk.Request) {
	o, err := p.files.OfferFiles(ctx, driver.FileRequest{Path: q.Path, Tree: q.Tree})
	if err != nil {
		_ = talk.SendMessage(s, talk.AnswerFromError(err)) // else the broker has gone
		return
	}
	if talk.SendMessage(s, &talk.Answer{Offer: &o.Offer}) == nil {
		select {
		case <-ctx.Done():
		case <-o.OverChannel():
		}
	}
	p.logError(o.Close())
}

// filesAt moves files between here and the depot of the broker, which is reached
// as agents reach it.
func (p *post) filesAt() *staging.Site {
	t := &http.Transport{
		DialContext:  func(context.Context, string, string) (net.Conn, error) { return p.link.OpenStream() },
		MaxIdleConns: 4, IdleConnTimeout: 10 * time.Second,
	}
	return &staging.Site{Home: p.Home, Dir: p.place.dir,
		Depot: depot.NewClient(&http.Client{Transport: t}, "http://broker"+wire.Depot)}
}
