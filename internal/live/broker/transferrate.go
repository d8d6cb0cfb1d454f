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

// measuredStager sees what transfers between the broker and a cluster achieve, whoever has
// them made: inputs that are brought and results that are left somewhere alike. What
// was cut off is an error there, and is not seen.
type measuredStager struct {
	farFiles
	b       *Broker
	cluster string
}

func (s *measuredStager) PushFiles(ctx context.Context, path string) (driver.Moved, error) {
	began := s.b.brokerTime()
	m, err := s.farFiles.PushFiles(ctx, path)
	if err == nil {
		s.b.reportTransfer(s.cluster, "", &m, began)
	}
	return m, err
}

func (s *measuredStager) BringTree(ctx context.Context, tree string) (driver.Moved, error) {
	began := s.b.brokerTime()
	m, err := s.farFiles.BringTree(ctx, tree)
	if err == nil {
		s.b.reportTransfer("", s.cluster, &m, began)
	}
	return m, err
}

// reportTransfer tells what a transfer that has just ended achieved, if anything was sent.
func (b *Broker) reportTransfer(from, to string, m *driver.Moved, began core.Time) {
	if b.opt.Moved != nil && m.Sent > 0 {
		b.opt.Moved(from, to, m.Sent, cmp.Or(m.Took, b.brokerTime().Sub(began)))
	}
}
