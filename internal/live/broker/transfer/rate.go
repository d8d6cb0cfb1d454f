package transfer

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/observe/weather"
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
	m       *Mover
	cluster string
}

func (s *measuredStager) PushFiles(ctx context.Context, path string) (driver.Moved, error) {
	began := s.m.grid.CurrentTime()
	moved, err := s.farFiles.PushFiles(ctx, path)
	if err == nil {
		s.m.reportTransfer(s.cluster, "", &moved, began)
	}
	return moved, err
}

func (s *measuredStager) BringTree(ctx context.Context, tree string) (driver.Moved, error) {
	began := s.m.grid.CurrentTime()
	moved, err := s.farFiles.BringTree(ctx, tree)
	if err == nil {
		s.m.reportTransfer("", s.cluster, &moved, began)
	}
	return moved, err
}

// stagerFor is what moves the files of a cluster as who asks sees them; nil if
// nothing does.
func (m *Mover) stagerFor(ctx context.Context, c *Cluster) driver.Stager {
	s := c.Files(ctx)
	if far, ok := s.(farFiles); ok && c.Site != "" {
		return &measuredStager{far, m, c.Name}
	}
	return s
}

// reportTransfer tells what a transfer that has just ended achieved, if anything was sent.
func (m *Mover) reportTransfer(from, to string, moved *driver.Moved, began core.Time) {
	if moved.Sent > 0 {
		m.grid.NoteRate(from, to, moved.Sent, cmp.Or(moved.Took, m.grid.CurrentTime().Sub(began)))
	}
}

// What is believed of the speed of transfers that nobody has measured, in bytes
// a second, and of files that nobody has seen, in bytes.
const (
	guessedRate = 10 << 20
	nearRate    = 200 << 20 // between the depot and clusters of this machine
	guessedSize = 1 << 30
)

// RateOf is the bytes a second that a transfer over a way will reach, as far as the network goes.
func RateOf(way weather.PathForecast) float64 { return math.Min(way.Mbps.Median()*1e6/8, nearRate) }

// transferRate is the bytes a second that a transfer is expected to reach.
func (m *Mover) transferRate(rows []history.Transfer, from, to string, near bool) float64 {
	if r, ok := m.measuredRate(rows, from, to); ok {
		return r
	}
	if near {
		return nearRate
	}
	return guessedRate
}

// measuredRate is what the network, or earlier transfers, say of it; false if they
// say nothing.
func (m *Mover) measuredRate(rows []history.Transfer, from, to string) (float64, bool) {
	if way, ok := m.grid.ForecastWay(from, to); ok {
		return RateOf(way), true
	}
	const tooFew = 64 << 10 // bytes, which tell of nothing but delays
	rows = slices.DeleteFunc(slices.Clone(rows), func(r history.Transfer) bool { return r.Sent < tooFew })
	r, n := history.TransferRate(rows, from, to)
	return r, n > 0 && r > 0
}

// directRate is that between two sites: if nothing is known of it, that of the
// slower of their ways to the broker.
func (m *Mover) directRate(rows []history.Transfer, from, to string) float64 {
	informative := slices.DeleteFunc(slices.Clone(rows), func(r history.Transfer) bool {
		return !history.IsInformative(r.Sent, time.Duration(r.Seconds*float64(time.Second)))
	})
	if r, ok := m.measuredRate(informative, from, to); ok {
		return r
	}
	// As the way through the broker is judged: of that it would be a half.
	return min(m.transferRate(rows, from, "", false), m.transferRate(rows, "", to, false))
}
