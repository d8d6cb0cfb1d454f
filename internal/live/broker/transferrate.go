package broker

import (
	"cmp"
	"context"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// farFiles is what moves the files of a cluster that is not where the broker is.
type farFiles interface {
	driver.Placer
	driver.Peer
}

// sighted sees what transfers between the broker and a cluster achieve, whoever has
// them made: inputs that are brought and results that are left somewhere alike. What
// was cut off is an error there, and is not seen.
type sighted struct {
	farFiles
	b       *Broker
	cluster string
}

func (s *sighted) Push(ctx context.Context, path string) (driver.Moved, error) {
	began := s.b.now()
	m, err := s.farFiles.Push(ctx, path)
	if err == nil {
		s.b.saw(s.cluster, "", &m, began)
	}
	return m, err
}

func (s *sighted) Bring(ctx context.Context, tree string) (driver.Moved, error) {
	began := s.b.now()
	m, err := s.farFiles.Bring(ctx, tree)
	if err == nil {
		s.b.saw("", s.cluster, &m, began)
	}
	return m, err
}

// saw tells what a transfer that has just ended achieved, if anything was sent.
func (b *Broker) saw(from, to string, m *driver.Moved, began core.Time) {
	if b.opt.Moved != nil && m.Sent > 0 {
		b.opt.Moved(from, to, m.Sent, cmp.Or(m.Took, b.now().Sub(began)))
	}
}
