package batch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
)

// Holder is a manager that may hold processors before a job begins.
type Holder interface {
	// HoldHosts makes a reservation of that name for us, from a moment on; zero: now.
	// One that is there already is no error.
	HoldHosts(ctx context.Context, name string, from time.Time, n driver.Need) error
	// DropHold takes it away. One that is not there is no error.
	DropHold(ctx context.Context, name string) error
}

// Shrinker is a manager that takes hosts away from jobs that run.
type Shrinker interface {
	// ShrinkJob leaves the job the first hosts of those that it has.
	ShrinkJob(ctx context.Context, job string, hosts int) error
}

var (
	_ driver.Reserver = (*Driver)(nil)
	_ driver.Resizer  = (*Driver)(nil)
)

// reservationFile is the file that says that there is, or may be, a reservation for
// an attempt. It is written before that is made and removed after that has gone.
func (d *Driver) reservationFile(id driver.ID) string {
	return filepath.Join(d.opt.Dir, "reservations", attemptdir.FolderName(id))
}

// reservedName says whether there is a reservation, and its name.
func (d *Driver) reservedName(id driver.ID) string {
	if _, err := os.Stat(d.reservationFile(id)); err != nil {
		return ""
	}
	return d.reservationName(id)
}

// reservationName is one that managers take: without hyphens and dots.
func (d *Driver) reservationName(id driver.ID) string {
	return strings.NewReplacer("-", "_", ".", "_").Replace(d.prefix + attemptdir.FolderName(id))
}

// ReserveProcs has the manager hold processors.
func (d *Driver) ReserveProcs(ctx context.Context, r driver.Reservation) error {
	if err := d.makeReservation(ctx, r); err != nil {
		return fmt.Errorf("reserve for job %d, attempt %d, on %s: %w", r.Job, r.Epoch, d.opt.Cluster, err)
	}
	return nil
}

func (d *Driver) makeReservation(ctx context.Context, r driver.Reservation) error {
	m, ok := d.manager.(Holder)
	if !ok {
		return fmt.Errorf("%w: its manager holds nothing for us", errors.ErrUnsupported)
	}
	a := d.attemptRecord(r.ID)
	if a == nil {
		return errClosed
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.released || d.folders.WasReleased(r.ID) {
		return attemptdir.ErrReleased
	}
	file := d.reservationFile(r.ID)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	err := m.HoldHosts(ctx, d.reservationName(r.ID), r.From, d.completeNeed(ctx, r.Need))
	if errors.Is(err, driver.ErrRefused) || errors.Is(err, driver.ErrAway) { // certainly nothing was made
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

// CancelReservation has them given back.
func (d *Driver) CancelReservation(ctx context.Context, id driver.ID) error {
	name := d.reservedName(id)
	m, ok := d.manager.(Holder)
	if !ok || name == "" {
		return nil
	}
	err := m.DropHold(ctx, name)
	if err == nil {
		err = os.Remove(d.reservationFile(id))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("give back what is held for job %d, attempt %d, on %s: %w", id.Job, id.Epoch, d.opt.Cluster, err)
	}
	return nil
}

// ResizeAttempt has the manager take hosts away from an attempt's job.
func (d *Driver) ResizeAttempt(ctx context.Context, id driver.ID, hosts int) error {
	if err := d.resizeAttempt(ctx, id, hosts); err != nil {
		return fmt.Errorf("resize job %d, attempt %d, on %s: %w", id.Job, id.Epoch, d.opt.Cluster, err)
	}
	return nil
}

func (d *Driver) resizeAttempt(ctx context.Context, id driver.ID, hosts int) error {
	m, ok := d.manager.(Shrinker)
	if !ok {
		return fmt.Errorf("%w: its manager does not change jobs that run", errors.ErrUnsupported)
	}
	d.mu.Lock()
	a := d.attempts[id]
	name := ""
	if a != nil && a.submitted {
		name = a.name
	}
	d.mu.Unlock()
	l, err := d.queryQueue(ctx)
	if err != nil {
		return err
	}
	for _, e := range l.jobs[name] {
		switch {
		case name == "" || e.State != Running:
		case hosts < 1 || hosts > len(e.Hosts):
			return fmt.Errorf("%w: it runs on %d hosts, and %d is neither fewer nor at least one", driver.ErrRefused,
				len(e.Hosts), hosts)
		case hosts == len(e.Hosts):
			return nil
		default:
			return m.ShrinkJob(ctx, e.ID, hosts)
		}
	}
	return fmt.Errorf("%w: it does not run", driver.ErrRefused)
}
